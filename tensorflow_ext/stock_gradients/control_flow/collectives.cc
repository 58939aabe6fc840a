// Ops that exchange tensors between devices, each of which runs the op. All are linear. The
// gradient sends everything back to its origin, like TensorFlow's Python gradients (tpu_ops.py,
// nccl_ops.py).

#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// ---- TPU and XLA

void AllToAllGrad(Gradient& g) {
  g.Return({Call("AllToAll", {g.Upstream(), g.Input(1)},
                 {{"concat_dimension", OfOp{"split_dimension"}},
                  {"split_dimension", OfOp{"concat_dimension"}},
                  {"split_count", OfOp{"split_count"}}}),
            Value()});
}
REGISTER_GRADIENT("AllToAll", AllToAllGrad);

// In the gradient, targets become sources.
void CollectivePermuteGrad(Gradient& g) {
  const Value pairs = Call("ReverseV2", {g.Input(1), g.Ints({1})});
  g.Return({Call("CollectivePermute", {g.Upstream(), pairs}), Value()});
}
REGISTER_GRADIENT("CollectivePermute", CollectivePermuteGrad);

void CrossReplicaSumGrad(Gradient& g) {
  g.Return({Call("CrossReplicaSum", {g.Upstream(), g.Input(1)}), Value()});
}
REGISTER_GRADIENT("CrossReplicaSum", CrossReplicaSumGrad);

// Each device has the sum, or the mean, over all; the same holds for gradients.
void XlaAllReduceGrad(Gradient& g) {
  const std::string reduction = g.Attr<std::string>("reduce_op");
  if (reduction != "Add" && reduction != "Mean") {
    return g.Unimplemented(
        absl::StrCat("reduce_op = \"", reduction, "\"; only \"Add\" and \"Mean\" have a gradient"));
  }
  g.Return({Call("XlaAllReduce", {g.Upstream(), g.Input(1)}, g.AttrsOfOp({"reduce_op", "mode"})),
            Value()});
}
REGISTER_GRADIENT("XlaAllReduce", XlaAllReduceGrad);

// ---- NCCL

bool IsSum(Gradient& g) {
  const std::string reduction = g.Attr<std::string>("reduction");
  if (reduction == "sum") return true;
  g.Unimplemented(absl::StrCat("reduction = \"", reduction, "\"; only \"sum\" has a gradient"));
  return false;
}

// Every device has the sum, so each device's gradient is the sum of all gradients. The ops of one
// exchange have the same `shared_name`.
void NcclAllReduceGrad(Gradient& g) {
  if (!IsSum(g)) return;
  g.Return({Call("NcclAllReduce", {g.Upstream()},
                 {{"reduction", "sum"},
                  {"num_devices", OfOp{"num_devices"}},
                  {"shared_name", g.Attr<std::string>("shared_name") + "_grad"}})});
}
REGISTER_GRADIENT("NcclAllReduce", NcclAllReduceGrad);

// The upstream gradient is the sum over all receivers of the tensor. Python splits it for
// NcclReduce to add up, which a definition cannot see; the runtime copies between devices instead.
void NcclBroadcastGrad(Gradient& g) { g.Return({g.Upstream()}); }
REGISTER_GRADIENT("NcclBroadcast", NcclBroadcastGrad);

// The same, because NcclBroadcast needs the static shape.
void NcclReduceGrad(Gradient& g) {
  if (!IsSum(g)) return;
  g.Return(Values(g.num_inputs(), g.Upstream()));
}
REGISTER_GRADIENT("NcclReduce", NcclReduceGrad);

}  // namespace
}  // namespace tensorflow_ext
