// SPDX-License-Identifier: Apache-2.0
//
// Recurrent layers of cuDNN. Their gradient op wants all that the forward op
// took and returned; it has no gradient itself.

#include <string>
#include <vector>

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The outputs are those of the op: output, output_h, output_c, of which there
// are gradients, then reserve_space and, from V2 on, host_reserved.
void CudnnRnn(Gradient& g, const char* gradient_op,
              const std::vector<std::string>& more_attributes) {
  if (!g.Attr<bool>("is_training")) {
    g.Unimplemented(
        "is_training = false: the op keeps nothing for the gradient; set "
        "is_training to true");
    return;
  }
  std::vector<Argument> inputs;
  for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.Input(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(g.Output(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(g.Upstream(i));
  for (int i = 3; i < g.num_outputs(); ++i) inputs.push_back(g.Output(i));
  std::vector<std::string> attributes = {"rnn_mode", "input_mode", "direction",
                                         "dropout",  "seed",       "seed2"};
  attributes.insert(attributes.end(), more_attributes.begin(),
                    more_attributes.end());
  Values gradients = CallAll(gradient_op, inputs, g.AttrsOfOp(attributes));
  gradients.resize(4);
  gradients.resize(g.num_inputs());  // none of V3's sequence_lengths
  g.Return(gradients);
}
void CudnnRnnGrad(Gradient& g) { CudnnRnn(g, "CudnnRNNBackprop", {}); }
void CudnnRnnV2Grad(Gradient& g) { CudnnRnn(g, "CudnnRNNBackpropV2", {}); }
void CudnnRnnV3Grad(Gradient& g) {
  CudnnRnn(g, "CudnnRNNBackpropV3", {"num_proj", "time_major"});
}
REGISTER_GRADIENT("CudnnRNN", CudnnRnnGrad);
REGISTER_GRADIENT("CudnnRNNV2", CudnnRnnV2Grad);
REGISTER_GRADIENT("CudnnRNNV3", CudnnRnnV3Grad);

}  // namespace
}  // namespace tensorflow_ext
