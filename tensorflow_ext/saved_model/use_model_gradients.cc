#include "tensorflow_ext/saved_model/use_model_gradients.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/saved_model/model_gradients.h"
#include "tensorflow_ext/saved_model/read_meta_graph.h"

namespace tensorflow_ext {
namespace {

absl::Status Use(TF_Graph* graph, const tensorflow::MetaGraphDef& meta_graph) {
  TF_ASSIGN_OR_RETURN(const ModelGradients found, FindModelGradients(meta_graph));
  tensorflow::mutex_lock lock(graph->mu);
  return graph->graph.AddFunctionLibrary(found.records);
}

absl::Status CheckGraph(const TF_Graph* graph) {
  if (graph != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("graph: expected a graph, got NULL");
}

}  // namespace
}  // namespace tensorflow_ext

extern "C" {

void TfExt_UseModelGradients(TF_Graph* graph, const TF_Buffer* meta_graph_def, TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckGraph(graph));
    TF_ASSIGN_OR_RETURN(const auto meta_graph, tensorflow_ext::ParseMetaGraph(meta_graph_def));
    return tensorflow_ext::Use(graph, meta_graph);
  });
}

void TfExt_UseSavedModelGradients(TF_Graph* graph, const char* folder, const char* const* tags,
                                  int ntags, TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckGraph(graph));
    if (folder == nullptr || ntags < 0 || (ntags > 0 && tags == nullptr)) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a folder, and tags with their number; got ",
                       folder == nullptr ? "NULL" : folder, ", ",
                       tags == nullptr ? "NULL" : "an array", " and ", ntags));
    }
    TF_ASSIGN_OR_RETURN(
        const auto meta_graph,
        tensorflow_ext::ReadMetaGraph(folder, std::vector<std::string>(tags, tags + ntags)));
    return tensorflow_ext::Use(graph, meta_graph);
  });
}

void TfExt_ModelGradients(const TF_Buffer* meta_graph_def, TF_Buffer* graph_def,
                          TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(graph_def));
    TF_ASSIGN_OR_RETURN(const auto meta_graph, tensorflow_ext::ParseMetaGraph(meta_graph_def));
    TF_ASSIGN_OR_RETURN(const std::string bytes, tensorflow_ext::GradientsAsGraphDef(meta_graph));
    return tensorflow_ext::Write(bytes, graph_def);
  });
}

}  // extern "C"
