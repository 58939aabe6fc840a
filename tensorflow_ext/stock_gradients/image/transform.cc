// Images moved by projective transforms t = (a0 a1 a2 b0 b1 b2 c0 c1). The pixel at (X, Y) is read
// from the image at
//
//   x = (a0 X + a1 Y + a2) / k,  y = (b0 X + b1 Y + b2) / k,
//   k = c0 X + c1 Y + 1,
//
// after fill_mode has moved positions outside of the image inside. If it is CONSTANT, the image is
// surrounded by fill_value.

#include <string>
#include <utility>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The inverses of the transforms [a0 a1 a2; b0 b1 b2; c0 c1 1], [.., 8].
Value InverseTransforms(Value transforms) {
  Gradient* g = transforms.gradient();
  const Value count = SliceVector(Shape(transforms), 0, 1);
  const Value ones =
      Fill(Concat({count, g->Ints({1})}, g->Int(0)), g->Scalar(1, transforms.type()));
  const Value matrices = Reshape(Concat({transforms, ones}, g->Int(1)), g->Ints({-1, 3, 3}));
  const Value inverse = Reshape(Call("MatrixInverse", {matrices}), g->Ints({-1, 9}));
  const Values parts = CallAll("SplitV", {inverse, g->Ints({8, 1}), g->Int(1)}, {{"num_split", 2}});
  return parts[0] / parts[1];
}

// The image, moved by the op itself.
Value Moved(Gradient& g, Value image, Value transforms, Value size, double fill_value) {
  std::vector<Argument> inputs = {image, transforms, size};
  if (g.num_inputs() == 4) {
    inputs.push_back(g.Scalar(fill_value, g.Input(3).type()));
  }
  return g.Call(g.op(), inputs, g.AttrsOfOp({"interpolation", "fill_mode"}));
}

// A position along an axis of `length` pixels, moved inside, and the derivative for the original
// position: 1, -1 in a mirror, or 0 beyond the outermost pixels.
struct Inside {
  Inside(const std::string& fill_mode, Value at, Value length) : place(at), slope(OnesLike(at)) {
    if (fill_mode == "CONSTANT") return;
    const Value last = length - 1;
    Value moved = at;
    if (fill_mode == "REFLECT") {
      const Value phase = FloorMod(at, 2 * length);
      const Value is_straight = Less(phase, length);
      moved = Where(is_straight, phase, 2 * length - phase - 1);
      slope = Where(is_straight, slope, -1);
    } else if (fill_mode == "WRAP") {
      const Value step = Maximum(last, 1);
      const Value turns = Where(Less(at, 0), Floor(-at / step) + 1, -Floor(at / step));
      const Value is_outside = LogicalOr(Less(at, 0), Greater(at, last));
      moved = Where(is_outside, at + length * turns, at);
    }
    place = Minimum(Maximum(moved, 0), last);
    slope = Where(Equal(place, moved), slope, 0);
  }

  Value place, slope;
};

// The gradient for the transforms, [1 or batch, 8]. The pixels I00, I01 are in one row and I10, I11
// in the row below. The position is between them at fractions u of the columns and v of the rows.
// The slopes in x and y are
//
//   (1 - v) (I01 - I00) + v (I11 - I10),  (1 - u) (I10 - I00) + u (I11 - I01).
Value ByTransforms(Gradient& g) {
  const Value images = g.Input(0), transforms = g.Input(1);
  const Value dy = Cast(g.Upstream(), DT_FLOAT), shape = Shape(dy);
  const Value zero = g.Int(0), one = g.Int(1);
  const std::string fill_mode = g.Attr<std::string>("fill_mode");
  const auto indices = [&](int axis, const std::vector<int64_t>& along) {
    return Reshape(Range(zero, Element(shape, axis), one), g.Ints(along));
  };
  const Value X = Cast(indices(2, {1, 1, -1}), DT_FLOAT);
  const Value Y = Cast(indices(1, {1, -1, 1}), DT_FLOAT);
  const Value each = Reshape(transforms, g.Ints({-1, 1, 1, 8}));
  const Values t = Unpack(each, 8, 3);  // each [1 or batch, 1, 1]
  const Value k = t[6] * X + t[7] * Y + 1;
  const Value is_finite = NotEqual(k, 0);
  const Value over_k = Where(is_finite, 1 / Where(is_finite, k, 1), 0);
  const Value x = (t[0] * X + t[1] * Y + t[2]) * over_k;
  const Value y = (t[3] * X + t[4] * Y + t[5]) * over_k;

  const Value image_shape = Shape(images);
  const Value height = Element(image_shape, 1), width = Element(image_shape, 2);
  const Inside column(fill_mode, x, Cast(width, DT_FLOAT));
  const Inside row(fill_mode, y, Cast(height, DT_FLOAT));
  const Value places = SliceVector(shape, 0, 3);
  const Value image = BroadcastTo(indices(0, {-1, 1, 1}), places);
  const Value fill_value = g.num_inputs() == 4 ? g.Input(3) : g.Scalar(0, DT_FLOAT);
  const auto pixels = [&](Value r, Value c) {
    const auto within = [&](Value v, Value length) {
      const Value last = Cast(length - 1, DT_FLOAT);
      return BroadcastTo(Cast(Minimum(Maximum(v, 0), last), DT_INT32), places);
    };
    const auto is_within = [&](Value v, Value length) {
      return LogicalAnd(GreaterEqual(v, 0), Less(v, Cast(length, DT_FLOAT)));
    };
    const Value at = Pack({image, within(r, height), within(c, width)}, -1);
    const Value is_pixel = LogicalAnd(is_within(r, height), is_within(c, width));
    return Where(ExpandDims(is_pixel, g.Int(3)), Cast(GatherNd(images, at), DT_FLOAT), fill_value);
  };
  const Value left = Floor(column.place), top = Floor(row.place);
  const Value I00 = pixels(top, left), I01 = pixels(top, left + 1);
  const Value I10 = pixels(top + 1, left), I11 = pixels(top + 1, left + 1);
  const auto channels = [&](Value v) { return ExpandDims(v, g.Int(3)); };
  const Value u = channels(column.place - left), v = channels(row.place - top);
  const Value by_column = (1 - v) * (I01 - I00) + v * (I11 - I10);
  const Value by_row = (1 - u) * (I10 - I00) + u * (I11 - I01);

  const auto by_place = [&](Value by, Value slope) {
    return Sum(dy * by, g.Int(3)) * (slope * over_k);
  };
  const Value A = by_place(by_column, column.slope);
  const Value B = by_place(by_row, row.slope);
  const Value C = -(A * x + B * y);
  const auto sum = [&](Value by) { return Sum(by, g.Ints({1, 2})); };
  const Value d = Pack(
      {sum(A * X), sum(A * Y), sum(A), sum(B * X), sum(B * Y), sum(B), sum(C * X), sum(C * Y)}, 1);
  return SumTo(transforms, d, Shape(d));
}

// The images' gradient is moved back by the inverse transform, like Python's
// _image_projective_transform_grad. The adjoint would scatter each pixel. This interpolates
// instead, which is the same if no pixels are merged or repeated. Python covers only the images.
// Nearest-pixel sampling has no derivative for transforms.
void ImageProjectiveTransformGrad(Gradient& g) {
  const Value images = g.Input(0), transforms = g.Input(1);
  const Value dy = g.Upstream();
  Values gradients(g.num_inputs());
  const Value size = SliceVector(Shape(images), 1, 3);
  gradients[0] = Moved(g, dy, InverseTransforms(transforms), size, 0);
  if (IsFloating(images)) {
    if (g.Attr<std::string>("interpolation") == "BILINEAR") {
      gradients[1] = ByTransforms(g);
    }
    if (gradients.size() == 4) {
      const Value filled = Moved(g, ZerosLike(images), transforms, g.Input(2), 1);
      gradients[3] = SumAll(Cast(dy * filled, g.Input(3).type()));
    }
  }
  g.Return(gradients);
}
REGISTER_GRADIENT("ImageProjectiveTransformV2", ImageProjectiveTransformGrad);
REGISTER_GRADIENT("ImageProjectiveTransformV3", ImageProjectiveTransformGrad);

}  // namespace
}  // namespace tensorflow_ext
