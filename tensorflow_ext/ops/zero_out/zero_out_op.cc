#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {

REGISTER_OP("TfExt>ZeroOut")
    .Input("to_zero: T")
    .Output("zeroed: T")
    .Attr(kNumericT)
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Keeps the first element, in row-major order, and sets the others to zero.

The gradient: ZeroOut(dy); none for the integer types.

to_zero: Tensor of any shape.
zeroed: Tensor of the same shape.
)doc");

REGISTER_OP("TfExt>ZeroOutWithIndex")
    .Input("to_zero: T")
    .Output("zeroed: T")
    .Output("index: int32")
    .Attr(kNumericT)
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      const tensorflow::shape_inference::DimensionHandle size = c->NumElements(c->input(0));
      c->set_output(1, c->Vector(c->ValueKnown(size) ? c->MakeDim(c->Value(size) > 0 ? 1 : 0)
                                                     : c->UnknownDim()));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Keeps the first element, in row-major order, and sets the others to zero. It
also outputs the index of the kept element.

The gradient: ZeroOut(dy) through zeroed; none for the integer types.

to_zero: Tensor of any shape.
zeroed: Tensor of the same shape.
index: Row-major index of the kept element: [0], or empty if to_zero is empty.
  It is in device memory on a GPU.
)doc");

namespace {

// The op is linear. Integers have no gradient, and neither does the index.
void ZeroOutGradient(Gradient& g) {
  if (!IsFloating(g.Input(0))) return ReturnNone(g);
  g.Return({Call("TfExt>ZeroOut", {g.Upstream()})});
}
REGISTER_GRADIENT("TfExt>ZeroOut", ZeroOutGradient);
REGISTER_GRADIENT("TfExt>ZeroOutWithIndex", ZeroOutGradient);

}  // namespace
}  // namespace tensorflow_ext
