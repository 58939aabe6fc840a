// Recurrent layers of cuDNN. Their gradient op takes all inputs and outputs of the forward op; it
// has no gradient itself.

#include <initializer_list>
#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Attributes LayerAttributes(Gradient& g, std::initializer_list<const char*> more_attributes) {
  std::vector<std::string> attributes = {"rnn_mode", "input_mode", "direction",
                                         "dropout",  "seed",       "seed2"};
  attributes.insert(attributes.end(), more_attributes.begin(), more_attributes.end());
  return g.AttrsOfOp(attributes);
}

// The op's outputs are output, output_h and output_c, which have gradients, then reserve_space and,
// from V2 on, host_reserved.
void CudnnRnn(Gradient& g, const char* gradient_op,
              std::initializer_list<const char*> more_attributes) {
  if (!g.Attr<bool>("is_training")) {
    g.Unimplemented(
        "is_training = false: the op saves nothing for the gradient; set "
        "is_training to true");
    return;
  }
  std::vector<Argument> inputs;
  for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.Input(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(g.Output(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(g.Upstream(i));
  for (int i = 3; i < g.num_outputs(); ++i) inputs.push_back(g.Output(i));
  Values gradients = CallAll(gradient_op, inputs, LayerAttributes(g, more_attributes));
  gradients.resize(4);
  gradients.resize(g.num_inputs());  // V3's sequence_lengths has no gradient
  g.Return(gradients);
}
void CudnnRnnGrad(Gradient& g) { CudnnRnn(g, "CudnnRNNBackprop", {}); }
void CudnnRnnV2Grad(Gradient& g) { CudnnRnn(g, "CudnnRNNBackpropV2", {}); }
void CudnnRnnV3Grad(Gradient& g) { CudnnRnn(g, "CudnnRNNBackpropV3", {"num_proj", "time_major"}); }
REGISTER_GRADIENT("CudnnRNN", CudnnRnnGrad);
REGISTER_GRADIENT("CudnnRNNV2", CudnnRnnV2Grad);
REGISTER_GRADIENT("CudnnRNNV3", CudnnRnnV3Grad);

// ---- A layer's weights and biases, packed into and unpacked from cuDNN's
// single parameter tensor. Both ops only move numbers, and each is the
// transpose of the other. The first three inputs are sizes.

void ReturnParts(Gradient& g, const char* op, const Attributes& attributes) {
  Values gradients(3);
  const Values parts =
      g.CallAll(op, {g.Input(0), g.Input(1), g.Input(2), g.Upstream()}, attributes);
  gradients.insert(gradients.end(), parts.begin(), parts.end());
  g.Return(gradients);
}

void ReturnWhole(Gradient& g, const char* op, int64_t num_weights, const Attributes& attributes) {
  const Values parts = g.Upstreams();
  const Values weights(parts.begin(), parts.begin() + num_weights);
  const Values biases(parts.begin() + num_weights, parts.end());
  g.Return({Value(), Value(), Value(),
            g.Call(op, {g.Input(0), g.Input(1), g.Input(2), weights, biases}, attributes)});
}

void CanonicalToParamsGrad(Gradient& g) {
  ReturnParts(g, "CudnnRNNParamsToCanonical", LayerAttributes(g, {"num_params"}));
}
REGISTER_GRADIENT("CudnnRNNCanonicalToParams", CanonicalToParamsGrad);

void CanonicalToParamsV2Grad(Gradient& g) {
  ReturnParts(g, "CudnnRNNParamsToCanonicalV2",
              LayerAttributes(g, {"num_params_weights", "num_params_biases", "num_proj"}));
}
REGISTER_GRADIENT("CudnnRNNCanonicalToParamsV2", CanonicalToParamsV2Grad);

void ParamsToCanonicalGrad(Gradient& g) {
  ReturnWhole(g, "CudnnRNNCanonicalToParams", g.Attr<int64_t>("num_params"),
              LayerAttributes(g, {}));
}
REGISTER_GRADIENT("CudnnRNNParamsToCanonical", ParamsToCanonicalGrad);

void ParamsToCanonicalV2Grad(Gradient& g) {
  ReturnWhole(g, "CudnnRNNCanonicalToParamsV2", g.Attr<int64_t>("num_params_weights"),
              LayerAttributes(g, {"num_proj"}));
}
REGISTER_GRADIENT("CudnnRNNParamsToCanonicalV2", ParamsToCanonicalV2Grad);

}  // namespace
}  // namespace tensorflow_ext
