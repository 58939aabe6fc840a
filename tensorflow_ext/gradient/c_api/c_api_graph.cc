// The functions of c_api.h that work on a client's TF_Graph or GraphDef.

#include <algorithm>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/c/c_api_internal.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/gradient/c_api/add_gradients.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/gradient/c_api/client_graph.h"
#include "tensorflow_ext/gradient/functions/inlined_copy.h"

namespace tensorflow_ext {
namespace {

absl::Status InlineCallsOfGraph(TF_Graph* graph, const TF_Output* outputs, int n,
                                TF_Output* inlined) {
  TF_ASSIGN_OR_RETURN(const auto tensors, OutputTensors(graph, "outputs", outputs, n));
  const std::lock_guard<std::mutex> only(OneRewriteAtATime());
  InlinedCopy copy;
  {
    tensorflow::mutex_lock lock(graph->mu);
    TF_ASSIGN_OR_RETURN(copy, CopyInlined(graph->graph, tensors));
  }
  TF_RETURN_IF_ERROR(ImportNodes(graph, copy.nodes));
  TF_ASSIGN_OR_RETURN(const auto found, FindTensors(graph, copy.tensors));
  std::copy(found.begin(), found.end(), inlined);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tensorflow_ext

extern "C" {

void TfExt_AddGradients(TF_Graph* graph, const char* prefix, TF_Output* y, int ny, TF_Output* x,
                        int nx, TF_Output* dx, TF_Status* status, TF_Output* dy,
                        TfExt_Unconnected unconnected) {
  using tensorflow_ext::OutputTensors;
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    if (graph == nullptr || ny < 1 || (nx > 0 && dy == nullptr)) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a graph, at least one y, and room for the gradients; got ",
                       graph == nullptr ? "NULL" : "a graph", ", ", ny, " and ",
                       dy == nullptr ? "NULL" : "an array"));
    }
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckUnconnected(unconnected));
    tensorflow_ext::HandOverNew();
    TF_ASSIGN_OR_RETURN(const auto ys, OutputTensors(graph, "y", y, ny));
    TF_ASSIGN_OR_RETURN(const auto xs, OutputTensors(graph, "x", x, nx));
    TF_ASSIGN_OR_RETURN(const auto upstream,
                        OutputTensors(graph, "dx", dx, dx == nullptr ? 0 : ny));
    TF_ASSIGN_OR_RETURN(const auto gradients,
                        tensorflow_ext::AddGradients(graph, prefix, ys, xs, upstream,
                                                     unconnected == TFEXT_UNCONNECTED_ZEROS));
    std::transform(gradients.begin(), gradients.end(), dy, tensorflow_ext::ToTfOutput);
    return absl::OkStatus();
  });
}

void TfExt_InlineCalls(TF_Graph* graph, const TF_Output* outputs, int n, TF_Output* inlined,
                       TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    if (graph == nullptr || (n > 0 && inlined == nullptr)) {
      return absl::InvalidArgumentError(absl::StrCat("expected a graph and room for ", n,
                                                     " tensors, got ",
                                                     graph == nullptr ? "NULL" : "a graph", " and ",
                                                     inlined == nullptr ? "NULL" : "an array"));
    }
    return tensorflow_ext::InlineCallsOfGraph(graph, outputs, n, inlined);
  });
}

void TfExt_InlineCallsOfGraphDef(const void* graph_def, size_t graph_def_length,
                                 const char* outputs, TF_Buffer* nodes, TF_Buffer* inlined,
                                 TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(nodes));
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(inlined));
    TF_ASSIGN_OR_RETURN(
        const auto copy,
        tensorflow_ext::CopyInlined(graph_def, graph_def_length, tensorflow_ext::Lines(outputs)));
    TF_RETURN_IF_ERROR(tensorflow_ext::Write(copy.nodes.SerializeAsString(), nodes));
    return tensorflow_ext::Write(absl::StrJoin(copy.tensors, "\n"), inlined);
  });
}

}  // extern "C"
