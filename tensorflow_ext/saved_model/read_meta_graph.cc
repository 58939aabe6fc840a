#include "tensorflow_ext/saved_model/read_meta_graph.h"

#include <unordered_set>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/cc/saved_model/reader.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"
#include "tensorflow_ext/base/parse_message.h"

namespace tensorflow_ext {

using tensorflow::MetaGraphDef;

absl::StatusOr<MetaGraphDef> ReadMetaGraph(const std::string& folder,
                                           const std::vector<std::string>& tags) {
  tensorflow::SavedModel model;
  TF_RETURN_IF_ERROR(tensorflow::ReadSavedModel(folder, &model));
  using Tags = std::unordered_set<std::string>;
  const Tags wanted(tags.begin(), tags.end());
  std::vector<std::string> others;
  for (MetaGraphDef& meta_graph : *model.mutable_meta_graphs()) {
    const auto& found = meta_graph.meta_info_def().tags();
    if (Tags(found.begin(), found.end()) == wanted) return std::move(meta_graph);
    others.push_back(absl::StrCat("[", absl::StrJoin(found, ", "), "]"));
  }
  return absl::NotFoundError(
      absl::StrCat("it has no graph with the tags [", absl::StrJoin(tags, ", "),
                   "]; those there are: ", others.empty() ? "none" : absl::StrJoin(others, ", "),
                   ". Give the attribute 'tags' the tags of one of them"));
}

absl::StatusOr<MetaGraphDef> ParseMetaGraph(const TF_Buffer* meta_graph_def) {
  const bool missing = meta_graph_def == nullptr;
  return ParseMessage<MetaGraphDef>(
      "meta_graph_def: expected a serialized tensorflow.MetaGraphDef with a graph, as "
      "TF_LoadSessionFromSavedModel writes it",
      missing ? nullptr : meta_graph_def->data, missing ? 0 : meta_graph_def->length,
      [](const MetaGraphDef& parsed) { return !parsed.graph_def().node().empty(); });
}

int NumDataInputs(const tensorflow::NodeDef& node) {
  return absl::c_count_if(node.input(),
                          [](const std::string& input) { return !absl::StartsWith(input, "^"); });
}

}  // namespace tensorflow_ext
