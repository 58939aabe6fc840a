// SPDX-License-Identifier: Apache-2.0
//
// A layer of LSTM cells over a whole sequence (Hochreiter and Schmidhuber,
// "Long short-term memory", 1997; peepholes: Gers and Schmidhuber, 2000).

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// As in Python, gradients enter by the cell states (output 1) and the hidden
// states (output 6); the gates are there for this kernel only.
void BlockLstm(Gradient& g, const char* gradient_op) {
  std::vector<Argument> inputs;
  for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.Input(i));
  for (int i = 0; i < g.num_outputs(); ++i) inputs.push_back(g.Output(i));
  inputs.push_back(g.Upstream(1));
  inputs.push_back(g.Upstream(6));
  Values gradients =
      CallAll(gradient_op, inputs, g.AttrsOfOp({"use_peephole"}));
  gradients.resize(g.num_inputs() - 1);
  gradients.insert(gradients.begin(), Value());  // seq_len_max
  g.Return(gradients);
}
// The versions order the gates differently: i, c, f, o and i, f, c, o.
void BlockLstmGrad(Gradient& g) { BlockLstm(g, "BlockLSTMGrad"); }
void BlockLstmV2Grad(Gradient& g) { BlockLstm(g, "BlockLSTMGradV2"); }
REGISTER_GRADIENT("BlockLSTM", BlockLstmGrad);
REGISTER_GRADIENT("BlockLSTMV2", BlockLstmV2Grad);

}  // namespace
}  // namespace tensorflow_ext
