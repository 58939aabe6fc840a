// A convolution y = f * x is linear in the image x and in the filter f. Its two gradients are
// linear as well, and adjoints of each other. Each of the three ops is the gradient of the other
// two, with the upstream gradient in place of the differentiated input.
//
// If there is nothing to sum, some TensorFlow kernels return unwritten memory. Their result is then
// multiplied by 0 with MulNoNan.

#include <cstdint>
#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The three ops of one kind of convolution and their common attributes.
struct Convolution {
  const char* forward;          // (x, f)
  const char* backprop_input;   // (shape of x, f, dy)
  const char* backprop_filter;  // (x, shape of f, dy)
  std::vector<std::string> names_of_attributes;
  bool writes_empty_sums;

  Attributes AttributesOf(Gradient& g) const { return g.AttrsOfOp(names_of_attributes); }
  Value Forward(Value x, Value f, const Attributes& attributes) const {
    return OrZeros(Call(forward, {x, f}, attributes), x, f);
  }
  Value InputGradient(Value x_shape, Value f, Value dy, const Attributes& attributes) const {
    return OrZeros(Call(backprop_input, {x_shape, f, dy}, attributes), f, dy);
  }
  Value FilterGradient(Value x, Value f_shape, Value dy, const Attributes& attributes) const {
    return OrZeros(Call(backprop_filter, {x, f_shape, dy}, attributes), x, dy);
  }

 private:
  // `sums` of products of elements of a and b, or zeros if there are none.
  Value OrZeros(Value sums, Value a, Value b) const {
    if (writes_empty_sums) return sums;
    const Value is_any = Greater(Minimum(Size(a), Size(b)), 0);
    return Call("MulNoNan", {sums, Cast(is_any, sums.type())});
  }
};

const Convolution& Conv2D() {
  static const auto* const conv = new Convolution{
      "Conv2D",
      "Conv2DBackpropInput",
      "Conv2DBackpropFilter",
      {"strides", "use_cudnn_on_gpu", "padding", "explicit_paddings", "data_format", "dilations"},
      true};
  return *conv;
}
const Convolution& Conv3D() {
  static const auto* const conv =
      new Convolution{"Conv3D",
                      "Conv3DBackpropInputV2",
                      "Conv3DBackpropFilterV2",
                      {"strides", "padding", "data_format", "dilations"},
                      false};
  return *conv;
}
const Convolution& Depthwise() {
  static const auto* const conv =
      new Convolution{"DepthwiseConv2dNative",
                      "DepthwiseConv2dNativeBackpropInput",
                      "DepthwiseConv2dNativeBackpropFilter",
                      {"strides", "padding", "explicit_paddings", "data_format", "dilations"},
                      false};
  return *conv;
}

void ForwardGrad(Gradient& g, const Convolution& conv) {
  const Value x = g.Input(0), f = g.Input(1), dy = g.Upstream();
  const Values shapes = CallAll("ShapeN", {Values{x, f}});
  const Attributes attributes = conv.AttributesOf(g);
  g.Return({conv.InputGradient(shapes[0], f, dy, attributes),
            conv.FilterGradient(x, shapes[1], dy, attributes)});
}

// The upstream gradient is a change dx of the image. Input 0 is the image's shape or, in some forms
// of the op, an image that only gives the shape. The same holds for input 1 in the next function.
void BackpropInputGrad(Gradient& g, const Convolution& conv) {
  const Value f = g.Input(1), dy = g.Input(2), dx = g.Upstream();
  const Attributes attributes = conv.AttributesOf(g);
  g.Return({Value(), conv.FilterGradient(dx, Shape(f), dy, attributes),
            conv.Forward(dx, f, attributes)});
}

// The upstream gradient is a change df of the filter.
void BackpropFilterGrad(Gradient& g, const Convolution& conv) {
  const Value x = g.Input(0), dy = g.Input(2), df = g.Upstream();
  const Attributes attributes = conv.AttributesOf(g);
  g.Return(
      {conv.InputGradient(Shape(x), df, dy, attributes), Value(), conv.Forward(x, df, attributes)});
}

// TensorFlow's client gradient drops explicit_paddings and dilations.
void Conv2DGrad(Gradient& g) { ForwardGrad(g, Conv2D()); }
REGISTER_STAND_IN("Conv2D", Conv2DGrad);
void Conv2DBackpropInputGrad(Gradient& g) { BackpropInputGrad(g, Conv2D()); }
REGISTER_GRADIENT("Conv2DBackpropInput", Conv2DBackpropInputGrad);
void Conv2DBackpropFilterGrad(Gradient& g) { BackpropFilterGrad(g, Conv2D()); }
REGISTER_GRADIENT("Conv2DBackpropFilter", Conv2DBackpropFilterGrad);

void Conv3DGrad(Gradient& g) { ForwardGrad(g, Conv3D()); }
void Conv3DBackpropInputGrad(Gradient& g) { BackpropInputGrad(g, Conv3D()); }
void Conv3DBackpropFilterGrad(Gradient& g) { BackpropFilterGrad(g, Conv3D()); }
REGISTER_GRADIENT("Conv3D", Conv3DGrad);
REGISTER_GRADIENT("Conv3DBackpropInputV2", Conv3DBackpropInputGrad);
REGISTER_GRADIENT("Conv3DBackpropFilterV2", Conv3DBackpropFilterGrad);

// These forms take images and filters in place of their shapes.
void Conv2DBackpropInputV2Grad(Gradient& g) {
  if (!IsFloating(g.Upstream())) return ReturnNone(g);
  BackpropInputGrad(g, Conv2D());
}
REGISTER_GRADIENT("Conv2DBackpropInputV2", Conv2DBackpropInputV2Grad);
REGISTER_GRADIENT("Conv2DBackpropFilterV2", Conv2DBackpropFilterGrad);

// These have no data_format: channels are last.
const Convolution& OldConv3D() {
  static const auto* const conv = new Convolution{"Conv3D",
                                                  "Conv3DBackpropInputV2",
                                                  "Conv3DBackpropFilterV2",
                                                  {"strides", "padding", "dilations"},
                                                  false};
  return *conv;
}
void OldConv3DBackpropInputGrad(Gradient& g) { BackpropInputGrad(g, OldConv3D()); }
void OldConv3DBackpropFilterGrad(Gradient& g) { BackpropFilterGrad(g, OldConv3D()); }
REGISTER_GRADIENT("Conv3DBackpropInput", OldConv3DBackpropInputGrad);
REGISTER_GRADIENT("Conv3DBackpropFilter", OldConv3DBackpropFilterGrad);

void DepthwiseGrad(Gradient& g) { ForwardGrad(g, Depthwise()); }
// TensorFlow's client gradient leaves the same memory unwritten as the kernels.
REGISTER_STAND_IN("DepthwiseConv2dNative", DepthwiseGrad);
void DepthwiseBackpropInputGrad(Gradient& g) { BackpropInputGrad(g, Depthwise()); }
void DepthwiseBackpropFilterGrad(Gradient& g) { BackpropFilterGrad(g, Depthwise()); }
REGISTER_GRADIENT("DepthwiseConv2dNativeBackpropInput", DepthwiseBackpropInputGrad);
REGISTER_GRADIENT("DepthwiseConv2dNativeBackpropFilter", DepthwiseBackpropFilterGrad);

// Conv is Conv2D or Conv3D, as `strides` tells, for images with any number of batch axes. They
// differ in explicit paddings, which Conv3D does not have: pad the image before, and crop its
// gradient.
void ConvGrad(Gradient& g) {
  const Value x = g.Input(0), f = g.Input(1), zero = g.Int(0);
  if (!IsFloating(x)) return ReturnNone(g);
  const auto strides = g.Attr<std::vector<int64_t>>("strides");
  const int64_t rank = strides.size();
  if (rank != 4 && rank != 5) {
    return g.Unimplemented("strides has " + std::to_string(rank) +
                           " elements, but only 4 and 5 are supported: the op has "
                           "kernels for 2 and 3 spatial axes");
  }
  const bool is_2d = rank == 4;
  const bool is_last = g.Attr<std::string>("data_format") == "CHANNELS_LAST";
  const bool is_padded = g.Attr<std::string>("padding") == "EXPLICIT";
  auto dilations = g.Attr<std::vector<int64_t>>("dilations");
  if (dilations.empty()) dilations.assign(rank, 1);
  const std::string format = is_2d ? (is_last ? "NHWC" : "NCHW") : (is_last ? "NDHWC" : "NCDHW");
  const Attributes attributes = {{"strides", strides},
                                 {"dilations", dilations},
                                 {"data_format", format},
                                 {"padding", is_padded ? "VALID" : g.Attr<std::string>("padding")}};

  const int64_t batch_dims = g.Attr<int64_t>("batch_dims");
  const auto with_one_batch_axis = [&](Value v) {
    if (batch_dims == 1) return v;
    const Value rest = SliceVector(Shape(v), batch_dims, kToTheEnd);
    return Reshape(v, Concat({g.Ints({-1}), rest}, zero));
  };
  const Value images = with_one_batch_axis(x);
  const Value dy = with_one_batch_axis(g.Upstream());
  Value paddings, padded = images;
  if (is_padded) {
    const auto pairs = g.Attr<std::vector<int64_t>>("explicit_paddings");
    paddings = Reshape(g.Ints(pairs), g.Ints({-1, 2}));
    padded = Call("Pad", {images, paddings});
  }

  const Convolution& conv = is_2d ? Conv2D() : Conv3D();
  const Values shapes = CallAll("ShapeN", {Values{padded, f}});
  Value dx = conv.InputGradient(shapes[0], f, dy, attributes);
  const Value df = conv.FilterGradient(padded, shapes[1], dy, attributes);
  if (is_padded) {
    const Value before = Slice(paddings, g.Ints({0, 0}), g.Ints({-1, 1}));
    dx = Slice(dx, Reshape(before, g.Ints({-1})), Shape(images));
  }
  g.Return({batch_dims == 1 ? dx : ReshapeLike(dx, x), df});
}
REGISTER_GRADIENT("Conv", ConvGrad);

// A convolution of an image that is optionally resized, and padded with its mirror image, in one
// op. `unresized` is the adjoint of the resizing.
template <typename Unresized>
void MirroredConvGrad(Gradient& g, Value resized, Value paddings, Value f, Unresized unresized) {
  const Value dy = g.Upstream();
  const Attributes mirror = g.AttrsOfOp({"mode"});
  const Attributes window = g.AttrsOfOp({"strides", "padding"});
  const Value padded = g.Call("MirrorPad", {resized, paddings}, mirror);
  const Values shapes = CallAll("ShapeN", {Values{padded, f}});
  const Value by_padded = g.Call(Conv2D().backprop_input, {shapes[0], f, dy}, window);
  const Value by_resized = g.Call("MirrorPadGrad", {by_padded, paddings}, mirror);
  Values gradients(g.num_inputs());
  gradients.front() = unresized(by_resized);
  gradients.back() = g.Call(Conv2D().backprop_filter, {padded, shapes[1], dy}, window);
  g.Return(gradients);
}

void FusedPadConv2DGrad(Gradient& g) {
  MirroredConvGrad(g, g.Input(0), g.Input(1), g.Input(2),
                   [](Value by_resized) { return by_resized; });
}
REGISTER_GRADIENT("FusedPadConv2D", FusedPadConv2DGrad);

void FusedResizeAndPadConv2DGrad(Gradient& g) {
  const Value x = g.Input(0);
  const Attributes corners = {{"align_corners", g.Attr<bool>("resize_align_corners")}};
  const Value resized = Cast(Call("ResizeBilinear", {x, g.Input(1)}, corners), x.type());
  MirroredConvGrad(g, resized, g.Input(2), g.Input(3), [&](Value by_resized) {
    return Call("ResizeBilinearGrad", {Cast(by_resized, DT_FLOAT), x}, corners);
  });
}
REGISTER_GRADIENT("FusedResizeAndPadConv2D", FusedResizeAndPadConv2DGrad);

// The bias gradient is a sum over all axes but the channels', so its gradient repeats the upstream
// gradient over them.
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
