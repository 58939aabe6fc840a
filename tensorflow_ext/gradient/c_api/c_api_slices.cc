// The functions of c_api.h that turn gradients into slices.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/gradient/c_api/client_graph.h"
#include "tensorflow_ext/gradient/slices/gradient_slices.h"

namespace tensorflow_ext {
namespace {

absl::Status SliceGradientsOfGraph(TF_Graph* graph, const TF_Output* gradients, int n,
                                   bool sum_repeated, TF_Output* dense, TfExt_Slices* slices,
                                   TF_Buffer* reasons) {
  // A gradient that does not exist stays so.
  std::vector<TF_Output> existing;
  for (int k = 0; k < n; ++k) {
    if (gradients[k].oper != nullptr) existing.push_back(gradients[k]);
  }
  TF_ASSIGN_OR_RETURN(const auto tensors,
                      OutputTensors(graph, "gradients", existing.data(), existing.size()));
  TF_ASSIGN_OR_RETURN(const SlicedGradients sliced, AddNodes(graph, [&](const auto& nodes) {
                        return SliceGradients(nodes, tensors, sum_repeated);
                      }));
  const TF_Output none = {nullptr, 0};
  std::vector<TF_Output> all_dense;
  std::vector<TfExt_Slices> all_slices;
  std::vector<std::string> lines;
  auto next = sliced.gradients.begin();
  for (int k = 0; k < n; ++k) {
    TF_Output one = none;
    TfExt_Slices parts = {none, none, none};
    lines.emplace_back();
    if (gradients[k].oper != nullptr) {
      const GradientSlices& found = *next++;
      lines.back() = found.reason;
      if (found.dense.empty()) {
        TF_ASSIGN_OR_RETURN(const auto tensors_of_slices,
                            FindTensors(graph, {found.values, found.indices, found.shape}));
        parts = {tensors_of_slices[0], tensors_of_slices[1], tensors_of_slices[2]};
      } else {
        TF_ASSIGN_OR_RETURN(const auto tensor, FindTensors(graph, {found.dense}));
        one = tensor[0];
      }
    }
    all_dense.push_back(one);
    all_slices.push_back(parts);
  }
  if (reasons != nullptr) TF_RETURN_IF_ERROR(Write(absl::StrJoin(lines, "\n"), reasons));
  std::copy(all_dense.begin(), all_dense.end(), dense);
  std::copy(all_slices.begin(), all_slices.end(), slices);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tensorflow_ext

extern "C" {

void TfExt_SliceGradients(TF_Graph* graph, const TF_Output* gradients, int n,
                          TfExt_RepeatedIndices repeated, TF_Output* dense, TfExt_Slices* slices,
                          TF_Buffer* reasons, TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    if (graph == nullptr || n < 0 ||
        (n > 0 && (gradients == nullptr || dense == nullptr || slices == nullptr))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected a graph, ", n,
          " gradients, and room for as many tensors and "
          "slices; got ",
          graph == nullptr ? "NULL" : "a graph", ", ", gradients == nullptr ? "NULL" : "an array",
          ", ", dense == nullptr ? "NULL" : "an array", " and ",
          slices == nullptr ? "NULL" : "an array"));
    }
    TF_ASSIGN_OR_RETURN(const bool sum_repeated, tensorflow_ext::SumsRepeated(repeated));
    if (reasons != nullptr) TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(reasons));
    return tensorflow_ext::SliceGradientsOfGraph(graph, gradients, n, sum_repeated, dense, slices,
                                                 reasons);
  });
}

}  // extern "C"
