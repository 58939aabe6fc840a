// Ops that pack several tensors into one variant, an Optional or a composite tensor, and ops that
// unpack it. The gradient of such a value has the same kind, with gradients in place of the
// tensors.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The upstream gradients of the components. A component without a gradient, such as the row splits
// of a ragged tensor, stands for itself.
Values ComponentGradients(Gradient& g) {
  Values gradients = g.Upstreams();
  for (int i = 0; i < g.num_outputs(); ++i) {
    if (!IsDifferentiable(gradients[i])) gradients[i] = g.Output(i);
  }
  return gradients;
}

// The gradients of the components that have one.
Values Differentiable(Values values) {
  for (Value& value : values) {
    if (!IsDifferentiable(value)) value = Value();
  }
  return values;
}

void OptionalFromValueGrad(Gradient& g) {
  g.Return(Differentiable(
      CallAll("OptionalGetValue", {g.Upstream()},
              {{"output_types", OfOp{"Toutput_types"}},
               {"output_shapes", std::vector<AnyShape>(static_cast<size_t>(g.num_inputs()))}})));
}
REGISTER_GRADIENT("OptionalFromValue", OptionalFromValueGrad);

void OptionalGetValueGrad(Gradient& g) {
  g.Return({Call("OptionalFromValue", {ComponentGradients(g)})});
}
REGISTER_GRADIENT("OptionalGetValue", OptionalGetValueGrad);

void VariantFromComponentsGrad(Gradient& g) {
  g.Return(Differentiable(CallAll("CompositeTensorVariantToComponents", {g.Upstream()},
                                  g.AttrsOfOp({"metadata", "Tcomponents"}))));
}
REGISTER_GRADIENT("CompositeTensorVariantFromComponents", VariantFromComponentsGrad);

void VariantToComponentsGrad(Gradient& g) {
  g.Return({Call("CompositeTensorVariantFromComponents", {ComponentGradients(g)},
                 g.AttrsOfOp({"metadata"}))});
}
REGISTER_GRADIENT("CompositeTensorVariantToComponents", VariantToComponentsGrad);

}  // namespace
}  // namespace tensorflow_ext
