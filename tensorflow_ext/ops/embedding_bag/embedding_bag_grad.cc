#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext {
namespace {

// The sum of gradients * EmbeddingBag(indices, params, weights) is linear in each of gradients,
// params and weights. Its derivatives are the three ops, and so are theirs.

Value Bag(Gradient& g, Value indices, Value params, Value weights) {
  return g.Call("TfExt>EmbeddingBag", {indices, params, weights}, g.AttrsOfOp({"combiner"}));
}

Value ByParams(Gradient& g, Value gradients, Value indices, Value params, Value weights) {
  return g.Call("TfExt>EmbeddingBagParamsGrad", {gradients, indices, params, weights},
                g.AttrsOfOp({"combiner"}));
}

Value ByWeights(Gradient& g, Value gradients, Value indices, Value params) {
  return g.Call("TfExt>EmbeddingBagWeightsGrad", {gradients, indices, params},
                g.AttrsOfOp({"combiner"}));
}

void EmbeddingBagGradient(Gradient& g) {
  const Value indices = g.Input(0), params = g.Input(1), weights = g.Input(2), dy = g.Upstream();
  g.Return({Value(), ByParams(g, dy, indices, params, weights), ByWeights(g, dy, indices, params)});
}
REGISTER_GRADIENT("TfExt>EmbeddingBag", EmbeddingBagGradient);

// params only gives the result its shape.
void EmbeddingBagParamsGradGradient(Gradient& g) {
  const Value gradients = g.Input(0), indices = g.Input(1), weights = g.Input(3), d = g.Upstream();
  g.Return({Bag(g, indices, d, weights), Value(), Value(), ByWeights(g, gradients, indices, d)});
}
REGISTER_GRADIENT("TfExt>EmbeddingBagParamsGrad", EmbeddingBagParamsGradGradient);

void EmbeddingBagWeightsGradGradient(Gradient& g) {
  const Value gradients = g.Input(0), indices = g.Input(1), params = g.Input(2), d = g.Upstream();
  g.Return({Bag(g, indices, params, d), Value(), ByParams(g, gradients, indices, params, d)});
}
REGISTER_GRADIENT("TfExt>EmbeddingBagWeightsGrad", EmbeddingBagWeightsGradGradient);

}  // namespace
}  // namespace tensorflow_ext
