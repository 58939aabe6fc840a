// SPDX-License-Identifier: Apache-2.0
//
// A convolution y = f * x is linear in the image x and in the filter f, and so
// are its two gradients, one an adjoint of the other: each of the three ops is
// the gradient of the other two, with the upstream gradient in the place of
// what is differentiated by.

#include <string>
#include <vector>

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The three ops of a kind of convolution and the attributes that they share.
struct Convolution {
  const char* forward;          // (x, f)
  const char* backprop_input;   // (shape of x, f, dy)
  const char* backprop_filter;  // (x, shape of f, dy)
  std::vector<std::string> attributes;

  Value Forward(Gradient& g, Value x, Value f) const {
    return g.Call(forward, {x, f}, g.AttrsOfOp(attributes));
  }
  Value InputGradient(Gradient& g, Value x_shape, Value f, Value dy) const {
    return g.Call(backprop_input, {x_shape, f, dy}, g.AttrsOfOp(attributes));
  }
  Value FilterGradient(Gradient& g, Value x, Value f_shape, Value dy) const {
    return g.Call(backprop_filter, {x, f_shape, dy}, g.AttrsOfOp(attributes));
  }
};

const Convolution& Conv2D() {
  static const auto* const conv =
      new Convolution{"Conv2D",
                      "Conv2DBackpropInput",
                      "Conv2DBackpropFilter",
                      {"strides", "use_cudnn_on_gpu", "padding",
                       "explicit_paddings", "data_format", "dilations"}};
  return *conv;
}
const Convolution& Conv3D() {
  static const auto* const conv =
      new Convolution{"Conv3D",
                      "Conv3DBackpropInputV2",
                      "Conv3DBackpropFilterV2",
                      {"strides", "padding", "data_format", "dilations"}};
  return *conv;
}
const Convolution& Depthwise() {
  static const auto* const conv = new Convolution{
      "DepthwiseConv2dNative",
      "DepthwiseConv2dNativeBackpropInput",
      "DepthwiseConv2dNativeBackpropFilter",
      {"strides", "padding", "explicit_paddings", "data_format", "dilations"}};
  return *conv;
}

void ForwardGrad(Gradient& g, const Convolution& conv) {
  const Value x = g.Input(0), f = g.Input(1), dy = g.Upstream();
  const Values shapes = CallAll("ShapeN", {Values{x, f}});
  g.Return({conv.InputGradient(g, shapes[0], f, dy),
            conv.FilterGradient(g, x, shapes[1], dy)});
}

// Upstream is a change dx of the image.
void BackpropInputGrad(Gradient& g, const Convolution& conv) {
  const Value f = g.Input(1), dy = g.Input(2), dx = g.Upstream();
  g.Return({Value(), conv.FilterGradient(g, dx, Shape(f), dy),
            conv.Forward(g, dx, f)});
}

// Upstream is a change df of the filter.
void BackpropFilterGrad(Gradient& g, const Convolution& conv) {
  const Value x = g.Input(0), dy = g.Input(2), df = g.Upstream();
  g.Return({conv.InputGradient(g, Shape(x), df, dy), Value(),
            conv.Forward(g, x, df)});
}

// TensorFlow's client gradient drops explicit_paddings and dilations.
void Conv2DGrad(Gradient& g) { ForwardGrad(g, Conv2D()); }
REGISTER_STAND_IN("Conv2D", Conv2DGrad);
void Conv2DBackpropFilterGrad(Gradient& g) { BackpropFilterGrad(g, Conv2D()); }
REGISTER_GRADIENT("Conv2DBackpropFilter", Conv2DBackpropFilterGrad);

void Conv3DGrad(Gradient& g) { ForwardGrad(g, Conv3D()); }
void Conv3DBackpropInputGrad(Gradient& g) { BackpropInputGrad(g, Conv3D()); }
void Conv3DBackpropFilterGrad(Gradient& g) { BackpropFilterGrad(g, Conv3D()); }
REGISTER_GRADIENT("Conv3D", Conv3DGrad);
REGISTER_GRADIENT("Conv3DBackpropInputV2", Conv3DBackpropInputGrad);
REGISTER_GRADIENT("Conv3DBackpropFilterV2", Conv3DBackpropFilterGrad);

void DepthwiseBackpropInputGrad(Gradient& g) {
  BackpropInputGrad(g, Depthwise());
}
void DepthwiseBackpropFilterGrad(Gradient& g) {
  BackpropFilterGrad(g, Depthwise());
}
REGISTER_GRADIENT("DepthwiseConv2dNativeBackpropInput",
                  DepthwiseBackpropInputGrad);
REGISTER_GRADIENT("DepthwiseConv2dNativeBackpropFilter",
                  DepthwiseBackpropFilterGrad);

// Grayscale dilation, max over the filter of x + f: to those that win.
void Dilation2DGrad(Gradient& g) {
  const std::vector<Argument> inputs = {g.Input(0), g.Input(1), g.Upstream()};
  const Attributes window = g.AttrsOfOp({"strides", "rates", "padding"});
  g.Return({g.Call("Dilation2DBackpropInput", inputs, window),
            g.Call("Dilation2DBackpropFilter", inputs, window)});
}
REGISTER_GRADIENT("Dilation2D", Dilation2DGrad);

// The bias gradient is a sum over all but the channels: its gradient repeats
// the upstream gradient over them.
void BiasAddGradGrad(Gradient& g) {
  const Value shape = Shape(g.Input(0));
  Value dd = g.Upstream();
  if (g.Attr<std::string>("data_format") == "NCHW") {
    const Value ones = OnesLike(SliceVector(shape, 2, kToTheEnd));
    dd = Reshape(dd, Concat({g.Ints({-1}), ones}, g.Int(0)));
  }
  g.Return({BroadcastTo(dd, shape)});
}
REGISTER_GRADIENT("BiasAddGrad", BiasAddGradGrad);

void BiasAddV1Grad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({dy, Call("BiasAddGrad", {dy})});
}
REGISTER_GRADIENT("BiasAddV1", BiasAddV1Grad);

}  // namespace
}  // namespace tensorflow_ext
