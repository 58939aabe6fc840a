// The gradient of the gradient of a layer of LSTM cells. BlockLSTMGrad runs a linear recurrence
// from the last step to the first, with the coefficients i, f, o, ci, co and w. No other op runs
// one, so its own gradient uses it for its recurrences.

#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/nn/lstm_layer.h"

namespace tensorflow_ext {
namespace {

Value Reversed(Value x) { return Call("ReverseV2", {x, x.gradient()->Ints({0})}); }

// `x` at the first step, 0 at the others; as many steps as in `like`.
Value AtFirst(Value x, Value like) { return Before(x, ZerosLike(like)); }

// The rows of `w` after those for x.
Value HiddenRows(Value w, Value x) {
  Gradient* g = w.gradient();
  const Value columns = Element(Shape(x), -1);
  return Slice(w, Pack({columns, g->Int(0)}), g->Ints({-1, -1}));
}

Value Ones(Value size, DataType type) {
  return Fill(ExpandDims(size, size.gradient()->Int(0)), size.gradient()->Scalar(1, type));
}

// The recurrence of BlockLSTMGrad with these coefficients is
//
//   dcs = dcs_in + dh o (1 - co^2) + f dcs of the step after,
//   dC = dcs i,  dO = dh o (1 - o) co,
//   dh = dh_in + [dC dO] w_h^T of the step after,
//
// and, for each step, [dC dO] w_x^T.
struct Recurrence {
  Value i, f, o, co, dcs_in, dh_in;
  // The columns of w for dC and dO. The first rows, as many as `result` has columns, are w_x; the
  // others are w_h.
  Value w_c, w_o, result;

  Value Run() const {
    Gradient& g = *i.gradient();
    const Value zero = ZerosLike(i), first = Sum(zero, g.Int(0));
    const Value none = Sum(first, g.Int(0)), no_weights = ZerosLike(w_c);
    const Value w = Beside({no_weights, w_c, no_weights, w_o});
    return g.Call("BlockLSTMGrad",
                  {Element(Shape(i, DT_INT64), 0), result, first, first, w, none, none, none,
                   Sum(w, g.Int(0)), i, zero, f, o, zero, co, zero, dcs_in, dh_in},
                  {{"use_peephole", false}});
  }
};

// s = x + f s of the step after.
Value Accumulate(Value x, Value f) {
  const Value zero = ZerosLike(x);
  const Value unit = MatrixDiag(Ones(Element(Shape(x), -1), x.type()));
  Gradient& g = *x.gradient();
  const Value w_c = Concat({unit, ZerosLike(unit)}, g.Int(0));
  return Recurrence{OnesLike(x), f, zero, zero, x, zero, w_c, ZerosLike(w_c), zero}.Run();
}

// The values of BlockLSTMGrad's recurrence: the gradients for h, cs and the gates' arguments at
// each step. The op returns the latter as the gradient for x if the weights for x are a unit
// matrix.
LstmBackward RunBackward(Gradient& g, const Layer& layer, Value dcs_in, Value dh_in) {
  const Value columns = Element(Shape(layer.w), 1);
  const Value unit = MatrixDiag(Ones(columns, layer.x.type()));
  const Value w_h = HiddenRows(layer.w, layer.x);
  std::vector<Argument> inputs;
  for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.Input(i));
  inputs[1] = Beside({layer.cell.i, layer.cell.i, layer.cell.i, layer.cell.i});
  inputs[4] = Concat({unit, w_h}, g.Int(0));
  const Value gates = g.Call(g.op(), inputs, g.AttrsOfOp({"use_peephole"}));

  LstmBackward back;
  back.gates = LstmGates::Of(gates, layer.is_icfo);
  back.dh = layer.OfRun(dh_in + After(Einsum("tbj,ij->tbi", {gates, w_h})));
  const LstmCell& cell = layer.cell;
  Value dcs = dcs_in + back.dh * cell.o * TanhSlope(cell.co);
  if (layer.peepholes.exist()) {
    const LstmPeepholes& peepholes = layer.peepholes;
    dcs = dcs + back.gates.o * peepholes.o +
          After(back.gates.i * peepholes.i + back.gates.f * peepholes.f);
  }
  back.dcs = Accumulate(layer.OfRun(dcs), cell.f);
  return back;
}

// The gradient for the backward recurrence runs forwards. Its values are named `to`. At each step
// (`base` and the weights are the part known beforehand)
//
//   to.gates = base + to_dh_prev w_h  (+ [wci wcf] to.cs_prev, wco to.dcs),
//   to.dcs = f to.cs_prev + ci i' to.gates.i + i ci' to.gates.c
//            + cs_prev f' to.gates.f,
//   to_dh = o co' to.dcs + co o' to.gates.o,
//
// where to.cs_prev and to_dh_prev are to.dcs and to_dh of the step before.
struct Forward {
  LstmBackwardAdjoint to;
  Value dh, dh_prev;
};

// As a recurrence of BlockLSTMGrad, this has a cell for each gate of a cell. Its dh is that of
// to.gates, and its dcs is the resulting part of to.dcs.
Forward RunForward(Gradient& g, const Layer& layer, Value base, Value first_cs, Value first_dh,
                   const LstmPeepholes& to_peepholes) {
  const LstmCell& cell = layer.cell;
  const LstmPeepholes& peepholes = layer.peepholes;
  const Value w_h = HiddenRows(layer.w, layer.x);
  const Value zero = ZerosLike(cell.i);
  const LstmGates by_gates = {cell.ci * LogisticSlope(cell.i), cell.i * TanhSlope(cell.ci),
                              cell.cs_prev * LogisticSlope(cell.f), zero};
  const Value o_by_gate = cell.co * LogisticSlope(cell.o);
  Value f = cell.f, h_by_cs = cell.o * TanhSlope(cell.co);
  if (peepholes.exist()) {
    f = f + by_gates.i * peepholes.i + by_gates.f * peepholes.f;
    h_by_cs = h_by_cs + o_by_gate * peepholes.o;
  }

  const bool is_icfo = layer.is_icfo;
  const auto at_gates = [&](Value value, Value at_output) {
    return LstmGates{value, value, value, at_output}.Concatenated(is_icfo);
  };
  const auto reversed_gates = [&](Value value, Value at_output) {
    return Reversed(at_gates(value, at_output));
  };
  LstmGates o = by_gates;
  o.o = cell.o;
  const Value from_first = AtFirst(first_cs, f) * f;
  const Value from_gates = base + AtFirst(MatMul(first_dh, w_h), base);

  const Value unit = MatrixDiag(Ones(Element(Shape(w_h), 0), w_h.type()));
  const Value part = Concat({unit, MatrixTranspose(w_h)}, g.Int(0));
  const Value none = ZerosLike(part);
  Recurrence run;
  run.i = reversed_gates(h_by_cs, zero);
  run.f = reversed_gates(After(f), zero);
  run.o = Reversed(o.Concatenated(is_icfo));
  run.co = reversed_gates(zero, cell.co);
  run.dcs_in = Reversed(LstmGates{from_first, zero, zero, zero}.Concatenated(is_icfo));
  run.dh_in = Reversed(from_gates);
  run.w_c = at_gates(part, none);
  run.w_o = at_gates(none, part);
  run.result = zero;

  Forward result;
  result.dh = Reversed(run.Run());
  result.dh_prev = Before(first_dh, result.dh);
  LstmBackwardAdjoint& to = result.to;
  to.gates = LstmGates::Of(base + Einsum("tbi,ij->tbj", {result.dh_prev, w_h}), is_icfo);
  const Value dcs =
      from_first + by_gates.i * to.gates.i + by_gates.c * to.gates.c + by_gates.f * to.gates.f;
  to.dcs = Reversed(Accumulate(Reversed(dcs), Reversed(After(f))));
  to.cs_prev = Before(first_cs, to.dcs);
  to.peepholes = to_peepholes;
  if (peepholes.exist()) {
    to.gates.i = to.gates.i + to.cs_prev * peepholes.i;
    to.gates.f = to.gates.f + to.cs_prev * peepholes.f;
    to.gates.o = to.gates.o + to.dcs * peepholes.o;
  }
  return result;
}

void BlockLstmGradGrad(Gradient& g) {
  const Layer layer(g, true);
  const LstmCell& cell = layer.cell;
  const LstmBackward back = RunBackward(g, layer, g.Input(16), g.Input(17));

  const Value to_dx = g.Upstream(0), to_first_cs = g.Upstream(1);
  const Value to_first_h = g.Upstream(2), to_dw = g.Upstream(3);
  const bool has_peepholes = layer.peepholes.exist();
  LstmPeepholes to_peepholes;
  const Value w_x = Slice(layer.w, g.Ints({0, 0}), Pack({Element(Shape(layer.x), -1), g.Int(-1)}));
  Value base = Einsum("tbi,ij->tbj", {to_dx, w_x}) + Einsum("tbi,ij->tbj", {layer.xh_prev, to_dw}) +
               g.Upstream(7);
  if (has_peepholes) {
    to_peepholes = {g.Upstream(4), g.Upstream(5), g.Upstream(6)};
    const LstmGates by_peepholes = {to_peepholes.i * cell.cs_prev, ZerosLike(cell.cs),
                                    to_peepholes.f * cell.cs_prev, to_peepholes.o * cell.cs};
    base = base + by_peepholes.Concatenated(layer.is_icfo);
  }
  const Forward forward = RunForward(g, layer, base, to_first_cs, to_first_h, to_peepholes);

  const LstmBackwardAdjoint& to = forward.to;
  const LstmCell d = AdjointOfCell(cell, back, to);
  const Value gates = back.gates.Concatenated(layer.is_icfo);
  const auto [d_x, d_h_prev] = Apart(Einsum("tbj,ij->tbi", {gates, to_dw}), layer.x);
  Values result(g.num_inputs());
  result[1] = d_x;
  result[2] = AtStep0(d.cs_prev);
  result[3] = AtStep0(d_h_prev);
  result[4] = SumOfProducts(Beside({to_dx, forward.dh_prev}), gates);
  if (has_peepholes) {
    result[5] = SumToVector(to.cs_prev * back.gates.i, true);
    result[6] = SumToVector(to.cs_prev * back.gates.f, true);
    result[7] = SumToVector(to.dcs * back.gates.o, true);
  }
  result[9] = d.i;
  result[10] = After(d.cs_prev);
  if (has_peepholes) result[10] = result[10] + d.cs;
  result[11] = d.f;
  result[12] = d.o;
  result[13] = d.ci;
  result[14] = d.co;
  result[15] = After(d_h_prev);
  result[16] = to.dcs;
  result[17] = forward.dh;
  g.Return(result);
}
REGISTER_GRADIENT("BlockLSTMGrad", BlockLstmGradGrad);
REGISTER_GRADIENT("BlockLSTMGradV2", BlockLstmGradGrad);

}  // namespace
}  // namespace tensorflow_ext
