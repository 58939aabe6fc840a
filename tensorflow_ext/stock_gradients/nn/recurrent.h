// Helpers for gradients of recurrent cells. The cells are those of TensorFlow's kernels, for a
// batch at one step, [batch, cells], or at all steps at once, [steps, batch, cells].

#pragma once

#include <utility>
#include <vector>

#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

// The derivatives of the logistic function and of tanh, from their results.
inline Value LogisticSlope(Value y) { return y * (1 - y); }
inline Value TanhSlope(Value y) { return 1 - Square(y); }

// Values side by side along the last axis, and the reverse: first as many columns as `like` has,
// then the others.
inline Value Beside(const Values& values) { return Concat(values, values[0].gradient()->Int(-1)); }
inline std::pair<Value, Value> Apart(Value x, Value like) {
  Gradient* g = x.gradient();
  const Value columns = Element(Shape(like), -1);
  const Value sizes = Pack({columns, Element(Shape(x), -1) - columns});
  const Values parts = CallAll("SplitV", {x, sizes, g->Int(-1)}, {{"num_split", 2}});
  return {parts[0], parts[1]};
}

// The sum over all axes but the last one, of [batch, n] or [steps, batch, n].
inline Value SumToVector(Value x, bool has_steps) {
  Gradient* g = x.gradient();
  return Sum(x, has_steps ? g->Ints({0, 1}) : g->Ints({0}));
}
inline Value SumOverBatch(Value x) { return SumToVector(x, false); }

// ---- A long short-term memory cell (Hochreiter and Schmidhuber, "Long
// short-term memory", 1997; peepholes: Gers and Schmidhuber, 2000):
//
//   i = sigmoid(I + cs_prev wci),  f = sigmoid(F + cs_prev wcf),
//   ci = tanh(C),  cs = ci i + cs_prev f,
//   o = sigmoid(O + cs wco),  co = tanh(cs),  h = co o,
//
// where [I C F O], or [I F C O], is [x h_prev] w + b. A clipped cs passes its gradient, as in
// TensorFlow's kernels.

// Four values, one for each gate.
struct LstmGates {
  Value i, c, f, o;

  // Side by side in the order of the kernels, and the reverse.
  Value Concatenated(bool is_icfo) const {
    return is_icfo ? Beside({i, c, f, o}) : Beside({i, f, c, o});
  }
  static LstmGates Of(Value x, bool is_icfo) {
    Gradient* g = x.gradient();
    const Values parts = CallAll("Split", {g->Int(-1), x}, {{"num_split", 4}});
    return {parts[0], parts[is_icfo ? 1 : 2], parts[is_icfo ? 2 : 1], parts[3]};
  }
};

// The peepholes' weights, or a value for each of them; empty without peepholes.
struct LstmPeepholes {
  Value i, f, o;
  bool exist() const { return i.exists(); }
};

struct LstmCell {
  Value cs_prev, i, cs, f, o, ci, co;
};

// The backward values of a cell, given dh and the sum `dcs_in` of the other gradients for cs: the
// gradients for cs and for [I C F O],
//
//   dO = dh co o',  dcs = dcs_in + dh o co' (+ dO wco),
//   dI = dcs ci i',  dC = dcs i ci',  dF = dcs cs_prev f',
//
// where a prime is the slope at the result. cs_prev gets
//   dcs f (+ dI wci + dF wcf).
struct LstmBackward {
  Value dh, dcs;
  LstmGates gates;
};

inline LstmBackward GoBackward(const LstmCell& cell, const LstmPeepholes& peep, Value dh,
                               Value dcs_in) {
  const Value d_o = dh * cell.co * LogisticSlope(cell.o);
  Value dcs = dcs_in + dh * cell.o * TanhSlope(cell.co);
  if (peep.exist()) dcs = dcs + d_o * peep.o;
  return {dh,
          dcs,
          {dcs * cell.ci * LogisticSlope(cell.i), dcs * cell.i * TanhSlope(cell.ci),
           dcs * cell.cs_prev * LogisticSlope(cell.f), d_o}};
}

// The upstream gradients at the next order: for the gates, for cs_prev's gradient, for dcs in
// total, and for the sums that the peepholes get.
struct LstmBackwardAdjoint {
  LstmGates gates;
  Value cs_prev, dcs;
  LstmPeepholes peepholes;
};

// The resulting gradients of the cell's values.
inline LstmCell AdjointOfCell(const LstmCell& cell, const LstmBackward& back,
                              const LstmBackwardAdjoint& to) {
  const Value dcs = back.dcs, dh = back.dh;
  LstmCell result;
  result.cs_prev = to.gates.f * LogisticSlope(cell.f) * dcs;
  if (to.peepholes.exist()) {
    result.cs_prev = result.cs_prev + to.peepholes.i * back.gates.i + to.peepholes.f * back.gates.f;
    result.cs = to.peepholes.o * back.gates.o;
  }
  result.i = dcs * (to.gates.c * TanhSlope(cell.ci) + to.gates.i * (1 - 2 * cell.i) * cell.ci);
  result.f = dcs * (to.cs_prev + to.gates.f * (1 - 2 * cell.f) * cell.cs_prev);
  result.ci = dcs * (to.gates.i * LogisticSlope(cell.i) - 2 * to.gates.c * cell.ci * cell.i);
  result.o = dh * (to.dcs * TanhSlope(cell.co) + to.gates.o * (1 - 2 * cell.o) * cell.co);
  result.co = dh * (to.gates.o * LogisticSlope(cell.o) - 2 * to.dcs * cell.co * cell.o);
  return result;
}

}  // namespace tensorflow_ext
