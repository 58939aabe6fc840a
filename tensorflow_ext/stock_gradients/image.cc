// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

Value LastAxisReversed(Value x) {
  return Call("ReverseV2", {x, x.gradient()->Ints({-1})});
}

// 1 at the first greatest of the three channels, 0 at the others.
Value FirstGreatest(Value x) {
  Gradient* g = x.gradient();
  return g->Call("OneHot",
                 {Call("ArgMax", {StopGradient(x), g->Int(-1)}), g->Int(3),
                  g->Scalar(1, x.type()), g->Scalar(0, x.type())});
}

// RGBToHSV. With M and m the greatest and the least channel, R = M - m, and
// the channels p before and n after the greatest one in the circle r, g, b, r:
//
//   value V = M,  saturation S = R / M,  hue H = constant + (n - p) / (6 R).
//
// So, with [p] for the vector that is 1 in channel p and 0 elsewhere:
//
//   dV = [M],  dS = m / M^2 [M] - 1 / M [m],
//   dH = (([n] - [p]) + (n - p) / R ([m] - [M])) / (6 R).
//
// Among equal channels M is the first and m the last. As in Python's
// _RGBToHSVGrad a channel at 0 has no gradient of S, a black pixel none of H,
// and a gray one none of H.
void RgbToHsvGrad(Gradient& g) {
  const Value x = g.Input(0), last = g.Int(-1);
  const Values d = CallAll("Split", {last, g.Upstream()}, {{"num_split", 3}});
  const Value dh = d[0], ds = d[1], dv = d[2];
  const auto pick = [&](Value one_hot) { return Sum(x * one_hot, last, true); };
  const auto roll = [&](Value v, int shift) {
    return Call("Roll", {v, g.Int(shift), last});
  };

  const Value is_max = FirstGreatest(x);
  const Value is_min = LastAxisReversed(FirstGreatest(LastAxisReversed(-x)));
  const Value max = pick(is_max), min = pick(is_min), range = max - min;
  const Value circle = roll(is_max, 1) - roll(is_max, -1);

  const Value by_s = DivNoNan(DivNoNan(min, max) * is_max - is_min, max);
  const Value slope = DivNoNan(pick(circle), range);
  const Value by_h = DivNoNan(circle + slope * (is_min - is_max), 6 * range);
  const auto where_positive = [&](Value v, Value value) {
    return Where(Greater(v, 0), value, 0);
  };
  g.Return({dv * is_max + where_positive(x, ds * by_s) +
            where_positive(max, dh * by_h)});
}
REGISTER_GRADIENT("RGBToHSV", RgbToHsvGrad);

// The matrices [a0 a1 a2; b0 b1 b2; c0 c1 1] of transforms [.., 8], inverted,
// as transforms again.
Value InverseTransforms(Value transforms) {
  Gradient* g = transforms.gradient();
  const Value count = SliceVector(Shape(transforms), 0, 1);
  const Value ones = Fill(Concat({count, g->Ints({1})}, g->Int(0)),
                          g->Scalar(1, transforms.type()));
  const Value matrices =
      Reshape(Concat({transforms, ones}, g->Int(1)), g->Ints({-1, 3, 3}));
  const Value inverse =
      Reshape(Call("MatrixInverse", {matrices}), g->Ints({-1, 9}));
  const Values parts = CallAll("SplitV", {inverse, g->Ints({8, 1}), g->Int(1)},
                               {{"num_split", 2}});
  return parts[0] / parts[1];
}

// The gradient is warped back by the inverse transform, as Python's
// _image_projective_transform_grad. The adjoint would scatter each pixel; this
// interpolates instead, and is it where no pixels are merged or repeated.
void ImageProjectiveTransformGrad(Gradient& g) {
  const Value size = SliceVector(Shape(g.Input(0)), 1, 3);
  std::vector<Argument> inputs = {g.Upstream(), InverseTransforms(g.Input(1)),
                                  size};
  if (g.num_inputs() == 4) {
    inputs.push_back(g.Scalar(0, g.Input(3).type()));  // fill_value
  }
  g.ReturnFirst(
      g.Call(g.op(), inputs, g.AttrsOfOp({"interpolation", "fill_mode"})));
}
REGISTER_GRADIENT("ImageProjectiveTransformV2", ImageProjectiveTransformGrad);
REGISTER_GRADIENT("ImageProjectiveTransformV3", ImageProjectiveTransformGrad);

// ---- Second order. A resized image is linear in the image, and the op that is
// its gradient is the transpose: the gradient of that one resizes once more.

// Height and width of images [batch, height, width, channels].
Value ImageSize(Value images) { return SliceVector(Shape(images), 1, 3); }

// ResizeXGrad(grads, original image, of which the shape counts, or its size).
void ResizeGradGrad(Gradient& g) {
  const std::string resize =
      g.op().substr(0, g.op().size() - 4);  // less "Grad"
  g.ReturnFirst(g.Call(resize, {g.Upstream(), ImageSize(g.Input(0))},
                       g.AttrsOfOp({"align_corners", "half_pixel_centers"})));
}
REGISTER_GRADIENT("ResizeBicubicGrad", ResizeGradGrad);
REGISTER_GRADIENT("ResizeBilinearGrad", ResizeGradGrad);
REGISTER_GRADIENT("ResizeNearestNeighborGrad", ResizeGradGrad);

void ScaleAndTranslateGradGrad(Gradient& g) {
  const Value grads = g.Input(0), scale = g.Input(2), translation = g.Input(3);
  g.ReturnFirst(g.Call("ScaleAndTranslate",
                       {g.Upstream(), ImageSize(grads), scale, translation},
                       g.AttrsOfOp({"kernel_type", "antialias"})));
}
REGISTER_GRADIENT("ScaleAndTranslateGrad", ScaleAndTranslateGradGrad);

// dy . d_image(grads, boxes) = grads . crops(dy, boxes), so that the gradients
// are those of the crops of dy. By boxes they are bilinear for either method,
// as those of CropAndResize.
void CropAndResizeGradImageGrad(Gradient& g) {
  const Value grads = g.Input(0), boxes = g.Input(1), box_index = g.Input(2);
  const Value dy = g.Upstream();
  const Value crops =
      g.Call("CropAndResize", {dy, boxes, box_index, ImageSize(grads)},
             g.AttrsOfOp({"method"}));
  const Value d_boxes =
      g.Call("CropAndResizeGradBoxes", {grads, dy, boxes, box_index});
  g.Return({crops, d_boxes, Value(), Value()});
}
REGISTER_GRADIENT("CropAndResizeGradImage", CropAndResizeGradImageGrad);

}  // namespace
}  // namespace tensorflow_ext
