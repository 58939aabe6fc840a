// One step of a long short-term memory cell, and TensorFlow's op for its gradient for cs and h.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/nn/recurrent.h"

namespace tensorflow_ext {
namespace {

// The weights of the peepholes, inputs 4 to 6 of both ops.
LstmPeepholes PeepholesOf(Gradient& g) {
  if (!g.Attr<bool>("use_peephole")) return {};
  return {g.Input(4), g.Input(5), g.Input(6)};
}

// LSTMBlockCell(x, cs_prev, h_prev, w, wci, wcf, wco, b) returns i, cs, f, o, ci, co and h.
void LstmBlockCellGrad(Gradient& g) {
  const Value x = g.Input(0), cs_prev = g.Input(1), h_prev = g.Input(2);
  const Value w = g.Input(3), i = g.Output(0), cs = g.Output(1);
  const Value f = g.Output(2), o = g.Output(3), ci = g.Output(4);
  const Value co = g.Output(5), dh = g.Upstream(6);
  const LstmPeepholes peepholes = PeepholesOf(g);

  const Value d_o = (g.Upstream(3) + dh * co) * LogisticSlope(o);
  Value dcs = g.Upstream(1) + (g.Upstream(5) + dh * o) * TanhSlope(co);
  if (peepholes.exist()) dcs = dcs + d_o * peepholes.o;
  const Value d_i = (g.Upstream(0) + dcs * ci) * LogisticSlope(i);
  const Value d_c = (g.Upstream(4) + dcs * i) * TanhSlope(ci);
  const Value d_f = (g.Upstream(2) + dcs * cs_prev) * LogisticSlope(f);
  const Value gates = LstmGates{d_i, d_c, d_f, d_o}.Concatenated(true);

  Value d_cs_prev = dcs * f;
  Value d_wci, d_wcf, d_wco;
  if (peepholes.exist()) {
    d_cs_prev = d_cs_prev + d_i * peepholes.i + d_f * peepholes.f;
    d_wci = SumOverBatch(d_i * cs_prev);
    d_wcf = SumOverBatch(d_f * cs_prev);
    d_wco = SumOverBatch(d_o * cs);
  }
  const auto [dx, dh_prev] = Apart(MatMul(gates, w, false, true), x);
  g.Return({dx, d_cs_prev, dh_prev, MatMul(Beside({x, h_prev}), gates, true), d_wci, d_wcf, d_wco,
            SumOverBatch(gates)});
}
REGISTER_GRADIENT("LSTMBlockCell", LstmBlockCellGrad);

// LSTMBlockCellGrad(x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, dcs, dh) returns
// the gradients for cs_prev, for [I C F O] and for the weights of the peepholes.
void LstmBlockCellGradGrad(Gradient& g) {
  const LstmCell cell = {g.Input(1),  g.Input(8),  g.Input(9), g.Input(10),
                         g.Input(11), g.Input(12), g.Input(13)};
  const LstmPeepholes peepholes = PeepholesOf(g);
  const LstmBackward back = GoBackward(cell, peepholes, g.Input(15), g.Input(14));

  LstmBackwardAdjoint to;
  to.cs_prev = g.Upstream(0);
  to.gates = LstmGates::Of(g.Upstream(1), true);
  if (peepholes.exist()) {
    to.peepholes = {g.Upstream(2), g.Upstream(3), g.Upstream(4)};
    to.gates.i = to.gates.i + to.cs_prev * peepholes.i + cell.cs_prev * to.peepholes.i;
    to.gates.f = to.gates.f + to.cs_prev * peepholes.f + cell.cs_prev * to.peepholes.f;
  }
  to.dcs = to.cs_prev * cell.f + to.gates.c * cell.i * TanhSlope(cell.ci) +
           to.gates.f * cell.cs_prev * LogisticSlope(cell.f) +
           to.gates.i * cell.ci * LogisticSlope(cell.i);
  Value d_wci, d_wcf, d_wco;
  if (peepholes.exist()) {
    to.gates.o = to.gates.o + to.dcs * peepholes.o + cell.cs * to.peepholes.o;
    d_wci = SumOverBatch(to.cs_prev * back.gates.i);
    d_wcf = SumOverBatch(to.cs_prev * back.gates.f);
    d_wco = SumOverBatch(to.dcs * back.gates.o);
  }
  const Value d_dh =
      to.dcs * cell.o * TanhSlope(cell.co) + to.gates.o * cell.co * LogisticSlope(cell.o);
  const LstmCell d = AdjointOfCell(cell, back, to);
  g.Return({Value(), d.cs_prev, Value(), Value(), d_wci, d_wcf, d_wco, Value(), d.i, d.cs, d.f, d.o,
            d.ci, d.co, to.dcs, d_dh});
}
REGISTER_GRADIENT("LSTMBlockCellGrad", LstmBlockCellGradGrad);

}  // namespace
}  // namespace tensorflow_ext
