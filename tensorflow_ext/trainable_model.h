// SavedModels to train further, for C++ clients, which must link libtensorflow_ext.so:
//
//   tensorflow_ext::TrainableModel model;
//   TF_RETURN_IF_ERROR(tensorflow_ext::TrainableModel::Load(folder, "", scope, &model));
//   // The scope does not know the names of the model's nodes: a sub-scope prevents equal ones.
//   const tensorflow::Scope inner = scope.NewSubScope("training");
//   // Add a loss, which depends on model.outputs, to it.
//   TF_RETURN_IF_ERROR(tensorflow_ext::Minimize(inner, loss, model.variables, adam, &training));
//   // Create a session with the whole graph.
//   TF_RETURN_IF_ERROR(model.Restore(session));
//   // Run training.initialize once, then training.step for each batch.
//   TF_RETURN_IF_ERROR(model.Save(session, folder));

#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/cc/saved_model/reader.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/added_nodes.h"
#include "tensorflow_ext/c_objects.h"
#include "tensorflow_ext/inline_calls.h"
#include "tensorflow_ext/saved_model/describe_meta_graph.h"
#include "tensorflow_ext/use_model_gradients.h"

namespace tensorflow_ext {

// A SavedModel that a program trains further, such as one that Keras exported.
class TrainableModel {
 public:
  // The tensors of the signature, by its names.
  std::map<std::string, tensorflow::Output> inputs, outputs;
  // The handles of the signature's trainable variables, for Minimize.
  std::vector<tensorflow::Output> variables;

  // Adds the graph of the SavedModel in a folder to that of `scope`, with the gradients that the
  // model brings (tf.custom_gradient). The calls of functions are inlined. `signature`: a name; ""
  // is "train" if the model has that signature, and otherwise "serving_default".
  //
  // Errors: kNotFound, the folder has no SavedModel; kInvalidArgument, the model lacks the
  // signature, trainable variables or a saver; those of UseModelGradients and InlineCalls. An error
  // leaves `model` unchanged; the graph may have the model's nodes.
  static absl::Status Load(const std::string& folder, const std::string& signature,
                           const tensorflow::Scope& scope, TrainableModel* model) {
    TrainableModel made;
    made.folder_ = folder;
    const absl::Status status = made.Read(signature, scope);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("TrainableModel::Load: the model in '",
                                                      folder, "': ", status.message()));
    }
    *model = std::move(made);
    return absl::OkStatus();
  }

  // Gives the variables and tables of a session their values from the folder. The session has the
  // graph of the scope.
  absl::Status Restore(tensorflow::Session* session) const {
    std::unique_ptr<tensorflow::Session> lent(session);
    const absl::Status status = tensorflow::RestoreSession({}, meta_graph_, folder_, &lent);
    static_cast<void>(lent.release());
    return status;
  }

  // Writes the variables into a folder of the model, which Python and TensorFlow Serving load. If
  // it is another one than Load had, Save first copies the graph and the assets.
  absl::Status Save(tensorflow::Session* session, const std::string& folder) const {
    TF_RETURN_IF_ERROR(CopyModel(folder));
    if (!copies_.empty()) TF_RETURN_IF_ERROR(session->Run({}, {}, copies_, nullptr));
    const tensorflow::SaverDef& saver = meta_graph_.saver_def();
    const tensorflow::Tensor prefix(absl::StrCat(folder, "/variables/variables"));
    std::vector<tensorflow::Tensor> written;
    return session->Run({{saver.filename_tensor_name(), prefix}}, {saver.save_tensor_name()}, {},
                        &written);
  }

 private:
  // The lines of TfExt_DescribeMetaGraph, and their fields.
  absl::Status Describe(std::vector<std::vector<std::string>>* lines) const {
    const std::string bytes = meta_graph_.SerializeAsString();
    const std::unique_ptr<TF_Buffer, decltype(&TF_DeleteBuffer)> meta_graph(
        TF_NewBufferFromString(bytes.data(), bytes.size()), TF_DeleteBuffer);
    const c_objects_internal::Buffer text;
    const c_objects_internal::Status status;
    TfExt_DescribeMetaGraph(meta_graph.get(), text.get(), status.get());
    for (absl::string_view line : absl::StrSplit(text.text(), '\n', absl::SkipEmpty())) {
      lines->push_back(absl::StrSplit(line, '\t'));
    }
    return status.Get();
  }

  // The name of the signature to train.
  absl::Status FindSignature(std::string* signature) const {
    const auto& all = meta_graph_.signature_def();
    std::vector<std::string> wanted = {*signature}, names;
    if (signature->empty()) wanted = {"train", "serving_default"};
    for (const std::string& name : wanted) {
      if (all.count(name) == 0) continue;
      *signature = name;
      return absl::OkStatus();
    }
    for (const auto& [name, definition] : all) names.push_back(absl::StrCat("'", name, "'"));
    std::sort(names.begin(), names.end());
    return absl::InvalidArgumentError(
        absl::StrCat("expected the signature '", absl::StrJoin(wanted, "' or '"),
                     "', got a model with the signatures ", absl::StrJoin(names, ", ")));
  }

  absl::Status Read(std::string signature, const tensorflow::Scope& scope) {
    TF_RETURN_IF_ERROR(scope.status());
    TF_RETURN_IF_ERROR(
        tensorflow::ReadMetaGraphDefFromSavedModel(folder_, {"serve"}, &meta_graph_));
    TF_RETURN_IF_ERROR(FindSignature(&signature));
    std::vector<std::vector<std::string>> lines;
    TF_RETURN_IF_ERROR(Describe(&lines));
    std::vector<std::vector<std::string>> parts;
    std::vector<std::string> names;
    int untrained = 0;
    for (const std::vector<std::string>& line : lines) {
      if (line[0] == "saver" && line[1] == "copy") copies_.push_back(line[2]);
      if (line[0] != "signature" || line[1] != signature) continue;
      const bool is_variable = line[2] == "variable";
      if (is_variable && line[6] != "trainable") {
        ++untrained;
        continue;
      }
      parts.push_back(line);
      names.push_back(line[is_variable ? 3 : 4]);
    }
    std::vector<tensorflow::Output> found;
    TF_RETURN_IF_ERROR(added_nodes_internal::AddNodes(
        scope, meta_graph_.graph_def().SerializeAsString(), names, &found));
    TF_RETURN_IF_ERROR(UseModelGradients(scope, meta_graph_));
    for (size_t k = 0; k < parts.size(); ++k) {
      if (parts[k][2] == "variable") {
        variables.push_back(found[k]);
      } else {
        (parts[k][2] == "input" ? inputs : outputs)[parts[k][3]] = found[k];
      }
    }
    if (variables.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a trainable variable behind the signature '", signature, "', got ",
                       untrained, " that are fixed or not said to be trainable"));
    }
    if (!meta_graph_.has_saver_def()) {
      return absl::InvalidArgumentError("expected a model with a saver, got one without");
    }
    std::vector<tensorflow::Output> inlined;
    for (const auto& [key, output] : outputs) inlined.push_back(output);
    TF_RETURN_IF_ERROR(InlineCalls(scope, inlined, &inlined));
    auto next = inlined.begin();
    for (auto& [key, output] : outputs) output = *next++;
    return absl::OkStatus();
  }

  // Copies the SavedModel without its variables, if the folder is another one.
  absl::Status CopyModel(const std::string& folder) const {
    namespace fs = std::filesystem;
    std::error_code error;
    if (fs::equivalent(folder_, folder, error)) return absl::OkStatus();
    // The saver does not make the folder of the variables.
    fs::create_directories(fs::path(folder) / "variables", error);
    const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
      const std::string name = entry.path().filename();
      if (entry.is_directory(error) && !absl::StartsWith(name, "assets")) continue;
      fs::copy(entry, fs::path(folder) / name, options, error);
      if (error) break;
    }
    if (!error) return absl::OkStatus();
    return absl::UnknownError(absl::StrCat("TrainableModel::Save: the model in '", folder_,
                                           "' cannot be copied to '", folder,
                                           "': ", error.message()));
  }

  std::string folder_;
  tensorflow::MetaGraphDef meta_graph_;
  std::vector<std::string> copies_;  // run before the saver: Keras exports each variable twice
};

}  // namespace tensorflow_ext
