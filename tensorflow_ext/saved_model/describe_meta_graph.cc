#include "tensorflow_ext/saved_model/describe_meta_graph.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/saved_model/meta_graph_lines.h"
#include "tensorflow_ext/saved_model/read_meta_graph.h"

extern "C" void TfExt_DescribeMetaGraph(const TF_Buffer* meta_graph_def, TF_Buffer* lines,
                                        TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_ASSIGN_OR_RETURN(const tensorflow::MetaGraphDef meta_graph,
                        tensorflow_ext::ParseMetaGraph(meta_graph_def));
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
