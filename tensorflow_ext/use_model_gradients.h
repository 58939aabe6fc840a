// TfExt_UseModelGradients of saved_model/use_model_gradients.h for C++ clients, which must link
// libtensorflow_ext.so.

#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_ext/c_objects.h"
#include "tensorflow_ext/saved_model/use_model_gradients.h"

namespace tensorflow_ext {

// Makes the graph of `scope` use the gradients that a SavedModel brings (tf.custom_gradient); until
// then, a gradient through a node that has one is an error. The graph has the nodes of
// `meta_graph`, under their own names: those of SavedModelBundle::meta_graph_def, or of
// ReadMetaGraphDefFromSavedModel. Call it before gradients are added and before InlineCalls. It
// adds functions to the graph's library and changes nothing else; a second call changes nothing.
//
// Errors: that of the scope, if it has one, and those of TfExt_UseModelGradients.
inline absl::Status UseModelGradients(const tensorflow::Scope& scope,
                                      const tensorflow::MetaGraphDef& meta_graph) {
  TF_RETURN_IF_ERROR(scope.status());
  const std::string bytes = meta_graph.SerializeAsString();
  const std::unique_ptr<TF_Buffer, decltype(&TF_DeleteBuffer)> model(
      TF_NewBufferFromString(bytes.data(), bytes.size()), TF_DeleteBuffer);
  const c_objects_internal::Buffer gradients;
  const c_objects_internal::Status status;
  TfExt_ModelGradients(model.get(), gradients.get(), status.get());
  TF_RETURN_IF_ERROR(status.Get());
  tensorflow::GraphDef graph_def;
  const absl::string_view found = gradients.text();
  if (!graph_def.ParseFromArray(found.data(), static_cast<int>(found.size()))) {
    return absl::InternalError("TfExt_ModelGradients gave no GraphDef");
  }
  return scope.graph()->AddFunctionLibrary(graph_def.library());
}

}  // namespace tensorflow_ext
