// Pooling is linear: an average always, a maximum once its argmax is known. The gradient of its
// gradient is the same pooling of the upstream gradient. The images that only determine the argmax
// have no gradient.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Attributes WindowOf(const Gradient& g) {
  return g.AttrsOfOp({"ksize", "strides", "padding", "data_format"});
}

void AvgPoolGradGrad(Gradient& g) {
  g.Return({Value(), Call("AvgPool", {g.Upstream()}, WindowOf(g))});
}
REGISTER_GRADIENT("AvgPoolGrad", AvgPoolGradGrad);

void AvgPool3DForwardGrad(Gradient& g) {
  g.Return({Call("AvgPool3DGrad", {Shape(g.Input(0)), g.Upstream()}, WindowOf(g))});
}
REGISTER_GRADIENT("AvgPool3D", AvgPool3DForwardGrad);

void AvgPool3DGradGrad(Gradient& g) {
  g.Return({Value(), Call("AvgPool3D", {g.Upstream()}, WindowOf(g))});
}
REGISTER_GRADIENT("AvgPool3DGrad", AvgPool3DGradGrad);

// x surrounded by rows and columns of `filling`. `paddings` has a pair (before, after) for each
// axis.
Value PadWith(double filling, Value x, const std::vector<int64_t>& paddings) {
  Gradient* g = x.gradient();
  const Value pairs = Reshape(g->Ints(paddings), g->Ints({-1, 2}));
  return Call("PadV2", {x, pairs, g->Scalar(filling, x.type())});
}

// TensorFlow's client gradient drops explicit_paddings.
void MaxPoolForwardGrad(Gradient& g) {
  Attributes window = WindowOf(g);
  window.push_back({"explicit_paddings", OfOp{"explicit_paddings"}});
  g.Return({Call("MaxPoolGrad", {g.Input(0), g.Output(), g.Upstream()}, window)});
}
REGISTER_STAND_IN("MaxPool", MaxPoolForwardGrad);

void MaxPool3DForwardGrad(Gradient& g) {
  g.Return({Call("MaxPool3DGrad", {g.Input(0), g.Output(), g.Upstream()}, WindowOf(g))});
}
REGISTER_GRADIENT("MaxPool3D", MaxPool3DForwardGrad);

// `maxima`, the result of an op MaxPool...GradGrad on x, y and `dd`.
//
// Its kernels (TensorFlow 2.21) overwrite `dd` if nothing else holds it and there are as many
// maxima, and fill it with zeros before they read it. So `dd` also goes into a node that waits for
// the maxima.
Value Holding(Value dd, Value maxima) {
  Gradient* g = dd.gradient();
  const Value flat = g->Ints({-1}), count = Reshape(Size(maxima), g->Ints({1}));
  const Value both = Concat({Reshape(maxima, flat), Reshape(dd, flat)}, g->Int(0));
  return ReshapeLike(Slice(both, g->Ints({0}), count), maxima);
}

// The inputs are the image x, its maxima y and a gradient dy for y.
void MaxPoolGradGrad(Gradient& g) {
  Value x = g.Input(0), dd = g.Upstream();
  const Value y = g.Input(1);
  Attributes window = WindowOf(g);
  if (g.Attr<std::string>("padding") == "EXPLICIT") {
    // MaxPoolGradGrad ignores paddings: pad here, with a value that never wins.
    if (!IsFloating(x)) return g.Return({Value(), Value(), Value()});
    const auto paddings = g.Attr<std::vector<int64_t>>("explicit_paddings");
    x = PadWith(-std::numeric_limits<double>::infinity(), x, paddings);
    dd = PadWith(0, dd, paddings);
    window = g.AttrsOfOp({"ksize", "strides", "data_format"});
    window.push_back({"padding", "VALID"});
  }
  g.Return({Value(), Value(), Holding(dd, Call("MaxPoolGradGrad", {x, y, dd}, window))});
}
REGISTER_GRADIENT("MaxPoolGrad", MaxPoolGradGrad);

void MaxPoolGradGradGrad(Gradient& g) {
  g.Return(
      {Value(), Value(), Call("MaxPoolGrad", {g.Input(0), g.Input(1), g.Upstream()}, WindowOf(g))});
}
REGISTER_GRADIENT("MaxPoolGradGrad", MaxPoolGradGradGrad);

// MaxPoolV2(x, ksize, strides)
void MaxPoolV2ForwardGrad(Gradient& g) {
  g.ReturnFirst(Call("MaxPoolGradV2",
                     {g.Input(0), g.Output(), g.Upstream(), g.Input(1), g.Input(2)},
                     g.AttrsOfOp({"padding", "data_format"})));
}
REGISTER_GRADIENT("MaxPoolV2", MaxPoolV2ForwardGrad);

// The V2 forms take ksize and strides as inputs 3 and 4.
Value MaxPoolV2Adjoint(Gradient& g, const char* op) {
  return Call(op, {g.Input(0), g.Input(1), g.Upstream(), g.Input(3), g.Input(4)},
              g.AttrsOfOp({"padding", "data_format"}));
}

void MaxPoolGradV2Grad(Gradient& g) {
  const Value maxima = MaxPoolV2Adjoint(g, "MaxPoolGradGradV2");
  g.Return({Value(), Value(), Holding(g.Upstream(), maxima), Value(), Value()});
}
void MaxPoolGradGradV2Grad(Gradient& g) {
  g.Return({Value(), Value(), MaxPoolV2Adjoint(g, "MaxPoolGradV2"), Value(), Value()});
}
REGISTER_GRADIENT("MaxPoolGradV2", MaxPoolGradV2Grad);
REGISTER_GRADIENT("MaxPoolGradGradV2", MaxPoolGradGradV2Grad);

// The two ops and their kernels admit different types.
std::string MaxPool3DRefusal(Gradient& g) {
  const DataType type = g.Upstream().type();
  if (g.Input(0).type() != type) return "TInput other than T is not supported";
  if (type != DT_FLOAT && type != DT_HALF && type != DT_BFLOAT16) {
    return "T other than half, bfloat16 and float is not supported: there is no kernel";
  }
  return "";
}

Value MaxPool3DAdjoint(Gradient& g, const char* op) {
  return Call(op, {g.Input(0), g.Input(1), g.Upstream()}, WindowOf(g));
}

void MaxPool3DGradGrad(Gradient& g) {
  const std::string refusal = MaxPool3DRefusal(g);
  if (!refusal.empty()) return g.Unimplemented(refusal);
  const Value maxima = MaxPool3DAdjoint(g, "MaxPool3DGradGrad");
  g.Return({Value(), Value(), Holding(g.Upstream(), maxima)});
}
void MaxPool3DGradGradGrad(Gradient& g) {
  const std::string refusal = MaxPool3DRefusal(g);
  if (!refusal.empty()) return g.Unimplemented(refusal);
  g.Return({Value(), Value(), MaxPool3DAdjoint(g, "MaxPool3DGrad")});
}
REGISTER_GRADIENT("MaxPool3DGrad", MaxPool3DGradGrad);
REGISTER_GRADIENT("MaxPool3DGradGrad", MaxPool3DGradGradGrad);

// The kernel of its gradient accepts only int64 indices.
void MaxPoolWithArgmaxGrad(Gradient& g) {
  g.Return({Call("MaxPoolGradWithArgmax", {g.Input(0), g.Upstream(0), Cast(g.Output(1), DT_INT64)},
                 g.AttrsOfOp({"ksize", "strides", "padding", "include_batch_in_index"}))});
}
REGISTER_GRADIENT("MaxPoolWithArgmax", MaxPoolWithArgmaxGrad);

// The upstream gradient at the argmax, an index into the flattened tensor or, if the batch is not
// included, into the flattened image.
void MaxPoolGradWithArgmaxGrad(Gradient& g) {
  const Value argmax = g.Input(2);
  const Value dd = g.Upstream();
  Value index = argmax;
  if (!g.Attr<bool>("include_batch_in_index")) {
    const Value shape = Shape(dd, argmax.type());
    const Value zero = g.Scalar(0, argmax.type());
    const Value image = Prod(SliceVector(shape, 1, kToTheEnd), g.Int(0));
    const Value batch = Range(zero, Element(shape, 0), g.Scalar(1, argmax.type()));
    index = index + Reshape(batch * image, g.Ints({-1, 1, 1, 1}));
  }
  g.Return({Value(), Gather(Reshape(dd, g.Ints({-1})), index), Value()});
}
REGISTER_GRADIENT("MaxPoolGradWithArgmax", MaxPoolGradWithArgmaxGrad);

// The gradient of that op: the elements of `grad`, shaped like x, at argmax.
void MaxPoolGradGradWithArgmaxGrad(Gradient& g) {
  g.Return({Value(),
            Call("MaxPoolGradWithArgmax", {g.Input(0), g.Upstream(), Cast(g.Input(2), DT_INT64)},
                 g.AttrsOfOp({"ksize", "strides", "padding", "include_batch_in_index"})),
            Value()});
}
REGISTER_GRADIENT("MaxPoolGradGradWithArgmax", MaxPoolGradGradWithArgmaxGrad);

}  // namespace
}  // namespace tensorflow_ext
