// The gradient of a layer of LSTM cells.

#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/nn/lstm_layer.h"

namespace tensorflow_ext {
namespace {

// TensorFlow's op takes gradients for cs and h. A gradient for co is one for cs. A gradient for a
// gate is one for its argument: [x h_prev] w + b plus the peepholes. So it is one for x, w, b, the
// peepholes' weights, and h and cs of the step before.
void BlockLstm(Gradient& g, const char* gradient_op) {
  const Layer layer(g, false);
  const LstmCell& cell = layer.cell;
  const LstmPeepholes& peepholes = layer.peepholes;
  const auto upstream = [&](int i) { return layer.OfRun(g.Upstream(i)); };
  const LstmGates d = {upstream(0) * LogisticSlope(cell.i), upstream(4) * TanhSlope(cell.ci),
                       upstream(2) * LogisticSlope(cell.f), upstream(3) * LogisticSlope(cell.o)};
  const Value gates = d.Concatenated(layer.is_icfo);
  const auto [dx, dh_prev] = Apart(Einsum("tbj,ij->tbi", {gates, layer.w}), layer.x);

  Value dcs = g.Upstream(1) + upstream(5) * TanhSlope(cell.co);
  Value dh = g.Upstream(6) + After(dh_prev);
  Value dcs_prev;
  if (peepholes.exist()) {
    dcs_prev = d.i * peepholes.i + d.f * peepholes.f;
    dcs = dcs + After(dcs_prev) + d.o * peepholes.o;
  }

  std::vector<Argument> inputs;
  for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.Input(i));
  for (int i = 0; i < g.num_outputs(); ++i) inputs.push_back(g.Output(i));
  inputs.push_back(dcs);
  inputs.push_back(dh);
  const Values by_states = CallAll(gradient_op, inputs, g.AttrsOfOp({"use_peephole"}));

  Values gradients = {Value(),
                      by_states[0] + dx,
                      by_states[1],
                      by_states[2] + AtStep0(dh_prev),
                      by_states[3] + SumOfProducts(layer.xh_prev, gates),
                      Value(),
                      Value(),
                      Value(),
                      by_states[7] + SumToVector(gates, true)};
  if (peepholes.exist()) {
    gradients[2] = gradients[2] + AtStep0(dcs_prev);
    gradients[5] = by_states[4] + SumToVector(d.i * cell.cs_prev, true);
    gradients[6] = by_states[5] + SumToVector(d.f * cell.cs_prev, true);
    gradients[7] = by_states[6] + SumToVector(d.o * cell.cs, true);
  }
  g.Return(gradients);
}
// The versions order the gates differently: i, c, f, o and i, f, c, o.
void BlockLstmGrad(Gradient& g) { BlockLstm(g, "BlockLSTMGrad"); }
void BlockLstmV2Grad(Gradient& g) { BlockLstm(g, "BlockLSTMGradV2"); }
REGISTER_GRADIENT("BlockLSTM", BlockLstmGrad);
REGISTER_GRADIENT("BlockLSTMV2", BlockLstmV2Grad);

}  // namespace
}  // namespace tensorflow_ext
