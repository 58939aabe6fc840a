// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/saved_model/describe_meta_graph.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/saved_model/meta_graph_lines.h"

extern "C" void TfExt_DescribeMetaGraph(const TF_Buffer* meta_graph_def, TF_Buffer* lines,
                                        TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    const bool missing = meta_graph_def == nullptr || meta_graph_def->data == nullptr;
    tensorflow::MetaGraphDef meta_graph;
    if (missing || meta_graph_def->length > std::numeric_limits<int>::max() ||
        !meta_graph.ParseFromArray(meta_graph_def->data,
                                   static_cast<int>(meta_graph_def->length)) ||
        meta_graph.graph_def().node().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "meta_graph_def: expected a serialized "
          "tensorflow.MetaGraphDef with a "
          "graph, as TF_LoadSessionFromSavedModel writes it, got ",
          missing ? "NULL" : absl::StrCat(meta_graph_def->length, " bytes of something else")));
    }
    const absl::StatusOr<std::vector<std::string>> found =
        tensorflow_ext::MetaGraphLines(meta_graph);
    if (!found.ok()) {
      return tensorflow::errors::CreateWithUpdatedMessage(
          found.status(), absl::StrCat("meta_graph_def: ", found.status().message()));
    }
    std::string text;
    for (const std::string& line : *found) absl::StrAppend(&text, line, "\n");
    return tensorflow_ext::Write(text, lines);
  });
}
