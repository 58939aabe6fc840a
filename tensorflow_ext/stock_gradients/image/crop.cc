// Crops of images with bilinear sampling. Along each axis, sample k of K is at
//
//   start (n - 1) + k (end - start) (n - 1) / (K - 1)
//
// in pixels of the image, which has n, or in the middle of the box if K = 1. Between the
// neighbouring pixels low and high, at a fraction u from low,
//
//   crop = (1 - u) ((1 - v) I00 + v I01) + u ((1 - v) I10 + v I11),
//
// where u is for rows and v for columns. A sample outside has no gradient.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/stock_gradients/image/image.h"

namespace tensorflow_ext {
namespace {

// CropAndResize(image, boxes, box_index, crop_size). The gradient for the boxes is that of bilinear
// interpolation, for either method. It exists for integer images too, where TensorFlow's client
// gradient fails.
void CropAndResizeForwardGrad(Gradient& g) {
  const Value image = g.Input(0), boxes = g.Input(1), box_index = g.Input(2);
  const Value dy = g.Upstream();
  Value d_image;
  if (IsFloating(image)) {
    d_image = Call("CropAndResizeGradImage", {dy, boxes, box_index, Shape(image)},
                   {{"T", image.type()}, {"method", OfOp{"method"}}});
  }
  g.Return(
      {d_image, Call("CropAndResizeGradBoxes", {dy, image, boxes, box_index}), Value(), Value()});
}
REGISTER_STAND_IN("CropAndResize", CropAndResizeForwardGrad);

// dy . d_image(grads, boxes) = grads . crops(dy, boxes), so the gradients are those of the crops of
// dy. For boxes they are always bilinear, as in CropAndResize.
void CropAndResizeGradImageGrad(Gradient& g) {
  const Value grads = g.Input(0), boxes = g.Input(1), box_index = g.Input(2);
  const Value dy = g.Upstream();
  const Value crops =
      g.Call("CropAndResize", {dy, boxes, box_index, ImageSize(grads)}, g.AttrsOfOp({"method"}));
  const Value d_boxes = g.Call("CropAndResizeGradBoxes", {grads, dy, boxes, box_index});
  g.Return({crops, d_boxes, Value(), Value()});
}
REGISTER_GRADIENT("CropAndResizeGradImage", CropAndResizeGradImageGrad);

// The samples of all boxes along one axis.
struct Samples {
  // `start`, `end`: the ends of the boxes, [boxes, 1]; `pixels`: n; `count`: K.
  Samples(Value start, Value end, Value pixels, Value count) {
    Gradient& g = *start.gradient();
    const Value zero = g.Int(0), one = g.Int(1);
    const Value last = Cast(pixels - 1, DT_FLOAT);
    const Value is_many = Greater(count, 1);
    const Value k = Cast(Range(zero, count, one), DT_FLOAT);
    // Compute in the kernels' order, so samples on the border of the image are in or out exactly as
    // there.
    const Value ratio = last / Cast(Maximum(count - 1, one), DT_FLOAT);
    const Value position =
        Where(is_many, start * last + k * ((end - start) * ratio), 0.5 * (start + end) * last);
    by_start = Where(is_many, last - k * ratio, 0.5 * last);
    by_end = Where(is_many, k * ratio, 0.5 * last);
    inside = Cast(LogicalAnd(GreaterEqual(position, 0), LessEqual(position, last)), DT_FLOAT);
    const auto pixel = [&](Value v) {
      return Maximum(Minimum(Cast(v, DT_INT32), pixels - 1), zero);
    };
    const Value floor = Floor(position);
    low = pixel(floor);
    high = pixel(Call("Ceil", {position}));
    fraction = position - floor;
  }

  Value by_start, by_end;  // d position / d start and d end, [K]
  Value inside;            // 1 or 0, [boxes, K]
  Value low, high;         // the neighbouring pixels, [boxes, K]
  Value fraction;          // u or v, [boxes, K]
};

// The upstream gradient W is a change of the boxes. It moves the samples in rows by p = W_y1 d/dy1
// + W_y2 d/dy2, in columns by q, and changes the crops by
//
//   J = p Iu + q Iv,  Iu = (1 - v) (I10 - I00) + v (I11 - I01),
//                     Iv = (1 - u) (I01 - I00) + u (I11 - I10).
//
// The gradients are those of sum grads J: J for grads; the coefficients of I00 to I11 for the
// image; the derivatives through u and v for the boxes, where Iuv = I11 - I01 - I10 + I00.
void CropAndResizeGradBoxesGrad(Gradient& g) {
  const Value grads = g.Input(0), image = g.Input(1), box_index = g.Input(3);
  const Value shape = Shape(grads), image_shape = Shape(image);
  const auto edges = [&](Value boxes) {  // y1, x1, y2, x2, each [boxes, 1]
    return CallAll("Split", {g.Int(1), boxes}, {{"num_split", 4}});
  };
  const Values box = edges(g.Input(2)), move = edges(g.Upstream());
  const Samples rows(box[0], box[2], Element(image_shape, 1), Element(shape, 1));
  const Samples columns(box[1], box[3], Element(image_shape, 2), Element(shape, 2));

  // From [boxes, K] to [boxes, rows, columns, channels].
  const auto of_rows = [&](Value v) { return ExpandDims(ExpandDims(v, g.Int(2)), g.Int(3)); };
  const auto of_columns = [&](Value v) { return ExpandDims(ExpandDims(v, g.Int(1)), g.Int(3)); };
  const Value places = SliceVector(shape, 0, 3);
  const auto place = [&](Value y, Value x) {
    const auto spread = [&](Value v) {
      return BroadcastTo(v, Concat({places, g.Ints({1})}, g.Int(0)));
    };
    const Value in = Reshape(box_index, g.Ints({-1, 1, 1, 1}));
    return Concat({spread(in), spread(of_rows(y)), spread(of_columns(x))}, g.Int(-1));
  };
  const Values corners = {place(rows.low, columns.low), place(rows.low, columns.high),
                          place(rows.high, columns.low), place(rows.high, columns.high)};
  Values I;
  for (const Value& corner : corners) {
    I.push_back(Cast(GatherNd(image, corner), DT_FLOAT));
  }

  const Value u = of_rows(rows.fraction), v = of_columns(columns.fraction);
  const Value inside = of_rows(rows.inside) * of_columns(columns.inside);
  const Value p = inside * of_rows(move[0] * rows.by_start + move[2] * rows.by_end);
  const Value q = inside * of_columns(move[1] * columns.by_start + move[3] * columns.by_end);
  const Value by_grads = p * ((1 - v) * (I[2] - I[0]) + v * (I[3] - I[1])) +
                         q * ((1 - u) * (I[1] - I[0]) + u * (I[3] - I[2]));

  Value by_image;
  if (IsFloating(image)) {
    const Values coefficients = {-(p * (1 - v)) - q * (1 - u), q * (1 - u) - p * v,
                                 p * (1 - v) - q * u, p * v + q * u};
    Values updates;
    for (const Value& coefficient : coefficients) {
      updates.push_back(grads * coefficient);
    }
    by_image = Cast(ScatterNd(Concat(corners, g.Int(0)), Concat(updates, g.Int(0)), image_shape),
                    image.type());
  }

  const Value mixed = Sum(grads * (I[3] - I[1] - I[2] + I[0]), g.Int(3), true);
  const Value by_row = Sum(mixed * q, g.Ints({2, 3}));
  const Value by_column = Sum(mixed * p, g.Ints({1, 3}));
  const auto sum = [&](Value by_position, Value by_edge) {
    return Sum(by_position * by_edge, g.Int(1), true);
  };
  const Value by_boxes = Concat({sum(by_row, rows.by_start), sum(by_column, columns.by_start),
                                 sum(by_row, rows.by_end), sum(by_column, columns.by_end)},
                                g.Int(1));
  g.Return({by_grads, by_image, by_boxes, Value()});
}
REGISTER_GRADIENT("CropAndResizeGradBoxes", CropAndResizeGradBoxesGrad);

}  // namespace
}  // namespace tensorflow_ext
