// A layer of LSTM cells over a whole sequence, [steps, batch, cells]. Only the first seq_len_max
// steps run; the kernels leave the other steps unset.
//
// BlockLSTM(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b) returns i, cs, f, o, ci, co and
// h. BlockLSTMGrad takes all of these and the gradients for cs and h, and returns those for x to b.

#pragma once

#include "tensorflow_ext/stock_gradients/nn/recurrent.h"

namespace tensorflow_ext {

// ---- Along the steps.

// The values of the step before: `first`, then all steps but the last.
inline Value Before(Value first, Value x) {
  Gradient* g = x.gradient();
  return SliceVector(Concat({ExpandDims(first, g->Int(0)), x}, g->Int(0)), 0, -1);
}

// The values of the step after: all steps but the first, then zeros.
inline Value After(Value x) {
  Gradient* g = x.gradient();
  const Value zero = ExpandDims(ZerosLike(Sum(x, g->Int(0))), g->Int(0));
  return SliceVector(Concat({x, zero}, g->Int(0)), 1, kToTheEnd);
}

// The value at the first step.
inline Value AtStep0(Value x) {
  Gradient* g = x.gradient();
  return Sum(SliceVector(x, 0, 1), g->Int(0));
}

// The sum over steps and batch of products a^T b.
inline Value SumOfProducts(Value a, Value b) { return Einsum("tbi,tbj->ij", {a, b}); }

// A layer, as both ops have it; steps that did not run are zeros.
struct Layer {
  explicit Layer(Gradient& g, bool is_gradient_op) {
    x = g.Input(1);
    h_first = g.Input(3);
    w = g.Input(4);
    if (g.Attr<bool>("use_peephole")) {
      peepholes = {g.Input(5), g.Input(6), g.Input(7)};
    }
    is_icfo = g.op() == "BlockLSTM" || g.op() == "BlockLSTMGrad";
    const auto output = [&](int i) { return is_gradient_op ? g.Input(9 + i) : g.Output(i); };
    const Value step =
        Range(g.Scalar(0, DT_INT64), Element(Shape(x, DT_INT64), 0), g.Scalar(1, DT_INT64));
    ran = Reshape(Less(step, g.Input(0)), g.Ints({-1, 1, 1}));
    const auto of_run = [&](int i) { return OfRun(output(i)); };
    cell = {Value(), of_run(0), of_run(1), of_run(2), of_run(3), of_run(4), of_run(5)};
    cell.cs_prev = Before(g.Input(2), cell.cs);
    xh_prev = Beside({OfRun(x), Before(h_first, of_run(6))});
  }

  Value OfRun(Value value) const { return Where(ran, value, 0); }

  bool is_icfo;
  Value x, h_first, w;
  LstmPeepholes peepholes;
  Value ran;
  LstmCell cell;
  Value xh_prev;  // [x h_prev]
};

}  // namespace tensorflow_ext
