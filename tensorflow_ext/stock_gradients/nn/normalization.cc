// Batch normalization: y = scale xh + offset for each channel, with
//   xh = (x - mean) r,  r = 1 / sqrt(variance + epsilon).
// In training, mean and variance are those of x over all axes but the channel.
//
// Like Python's gradients, these treat the statistics, both outputs and inputs, as constants. Only
// BatchNormWithGlobalNormalization has gradients for them.

#include <string>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The layout of a batch of images with channels: data_format as numbers.
struct Layout {
  explicit Layout(Gradient& g)
      : format(g.Attr<std::string>("data_format")),
        rank(format.size()),
        channels_last(format.back() == 'C') {}

  // All axes but the channels'.
  Value Axes(Gradient& g) const {
    std::vector<int64_t> axes = {0};
    for (int i = channels_last ? 1 : 2; i < rank - channels_last; ++i) {
      axes.push_back(i);
    }
    return g.Ints(axes);
  }
  // A vector over the channels, reshaped to broadcast against the images.
  Value PerChannel(Value v) const {
    if (channels_last) return v;
    std::vector<int64_t> shape(rank, 1);
    shape[1] = -1;
    return Reshape(v, v.gradient()->Ints(shape));
  }

  const std::string format;
  const int rank;
  const bool channels_last;
};

// The permutations between channels first and channels last.
Value ToChannelsLast(Value x, const Layout& layout) {
  if (layout.channels_last) return x;
  std::vector<int64_t> permutation = {0};
  for (int i = 2; i < layout.rank; ++i) permutation.push_back(i);
  permutation.push_back(1);
  return Transpose(x, x.gradient()->Ints(permutation));
}
Value FromChannelsLast(Value x, const Layout& layout) {
  if (layout.channels_last) return x;
  std::vector<int64_t> permutation = {0, layout.rank - 1};
  for (int i = 1; i < layout.rank - 1; ++i) permutation.push_back(i);
  return Transpose(x, x.gradient()->Ints(permutation));
}

// FusedBatchNorm, V2 and V3. Training returns the batch's statistics in the reserved outputs 3 and
// 4. Without training they are the inputs 3 and 4, and the kernel accepts only channels last. V3
// has one more reserved output.
void FusedBatchNorm(Gradient& g, const char* gradient_op) {
  const Layout layout(g);
  const Value x = g.Input(0), scale = g.Input(1), dy = g.Upstream(0);
  if (scale.type() != DT_FLOAT) {
    return g.Unimplemented("the gradient op only takes a float scale");
  }
  const bool is_training = g.Attr<bool>("is_training");
  std::vector<Argument> inputs;
  Attributes attributes = g.AttrsOfOp({"epsilon", "is_training"});
  if (is_training) {
    inputs = {dy, x, scale, g.Output(3), g.Output(4)};
    attributes.push_back({"data_format", OfOp{"data_format"}});
  } else {
    inputs = {ToChannelsLast(dy, layout), ToChannelsLast(x, layout), scale, g.Input(3), g.Input(4)};
    attributes.push_back({"data_format", layout.rank == 4 ? "NHWC" : "NDHWC"});
  }
  if (g.num_outputs() > 5) inputs.push_back(g.Output(5));
  const Values d = CallAll(gradient_op, inputs, attributes);
  g.Return({is_training ? d[0] : FromChannelsLast(d[0], layout), d[1], d[2], Value(), Value()});
}
void FusedBatchNormGrad(Gradient& g) { FusedBatchNorm(g, "FusedBatchNormGrad"); }
void FusedBatchNormV2Grad(Gradient& g) { FusedBatchNorm(g, "FusedBatchNormGradV2"); }
void FusedBatchNormV3Grad(Gradient& g) { FusedBatchNorm(g, "FusedBatchNormGradV3"); }
REGISTER_GRADIENT("FusedBatchNorm", FusedBatchNormGrad);
REGISTER_GRADIENT("FusedBatchNormV2", FusedBatchNormV2Grad);
// TensorFlow's gradient leaves zeros in the graph for each unused output.
REGISTER_STAND_IN("FusedBatchNormV3", FusedBatchNormV3Grad);

// FusedBatchNormGrad, V2 and V3 compute, with means over all axes but the channels' and the
// symmetric P v = v - mean(v) - xh mean(xh v),
//
//   dx = scale r P dy,    dscale = sum(xh dy),    doffset = sum(dy).
//
// With upstream gradients A, B, C of these three and
//
//   a = mean(xh A),    d = mean(xh dy),    q = mean(A P dy),
//
// the gradients are
//
//   for dy:     scale r P A + B xh + C
//   for scale:  r sum(A P dy)
//   for x:      r ((B - scale r a) P dy - scale r (d P A + q xh)).
//
// The last follows from dr / dx = -r^2 xh / N and the Jacobian r P of xh. Without training, r and
// xh use given statistics and P v = v:
//
//   for dy:     scale r A + B xh + C
//   for scale:  r sum(A dy)
//   for x:      r B dy.
void FusedBatchNormGradGrad(Gradient& g) {
  const Layout layout(g);
  const Value axes = layout.Axes(g);
  const auto mean = [&](Value v) { return Mean(v, axes, true); };
  // The 16-bit types are computed in float, as in the kernels.
  const DataType type = g.Input(2).type();
  const Value dy = Cast(g.Input(0), type), x = Cast(g.Input(1), type);
  const Value A = Cast(g.Upstream(0), type);
  const Value scale = layout.PerChannel(g.Input(2));
  const Value B = layout.PerChannel(g.Upstream(1));
  const Value C = layout.PerChannel(g.Upstream(2));
  const float epsilon = g.Attr<float>("epsilon");

  Value by_dy, by_x, by_scale;
  if (g.Attr<bool>("is_training")) {
    const Value centered = x - mean(x);
    const Value r = Rsqrt(mean(Square(centered)) + epsilon);
    const Value xh = centered * r;
    const Value a = mean(xh * A), d = mean(xh * dy);
    const Value PA = A - mean(A) - xh * a, Pdy = dy - mean(dy) - xh * d;
    const Value A_Pdy = A * Pdy;
    const Value scale_r = scale * r;
    by_dy = scale_r * PA + B * xh + C;
    by_x = r * ((B - scale_r * a) * Pdy - scale_r * (d * PA + mean(A_Pdy) * xh));
    by_scale = r * Sum(A_Pdy, axes, true);
  } else {
    const Value r = Rsqrt(layout.PerChannel(g.Input(4)) + epsilon);
    const Value xh = (x - layout.PerChannel(g.Input(3))) * r;
    by_dy = scale * r * A + B * xh + C;
    by_x = r * B * dy;
    by_scale = r * Sum(A * dy, axes, true);
  }
  Values gradients(g.num_inputs());
  gradients[0] = Cast(by_dy, g.Input(0).type());
  gradients[1] = Cast(by_x, g.Input(1).type());
  gradients[2] = Reshape(by_scale, g.Ints({-1}));
  g.Return(gradients);
}
REGISTER_GRADIENT("FusedBatchNormGrad", FusedBatchNormGradGrad);
REGISTER_GRADIENT("FusedBatchNormGradV2", FusedBatchNormGradGrad);
REGISTER_GRADIENT("FusedBatchNormGradV3", FusedBatchNormGradGrad);

// y = (x - m) r [gamma] + beta with r = 1 / sqrt(v + epsilon), channels last. gamma counts if
// scale_after_normalization is set.
void BatchNormWithGlobalNormalizationGrad(Gradient& g) {
  const Value x = g.Input(0), m = g.Input(1), v = g.Input(2);
  const Value gamma = g.Input(4), dy = g.Upstream();
  const bool scaled = g.Attr<bool>("scale_after_normalization");
  const Value axes = g.Ints({0, 1, 2});
  const Value r = Rsqrt(v + g.Attr<float>("variance_epsilon"));
  const Value slope = scaled ? r * gamma : r;
  const Value dbeta = Sum(dy, axes);
  const Value projection = Sum(dy * (x - m), axes);
  g.Return({dy * slope, -dbeta * slope, -0.5 * projection * slope * Square(r), dbeta,
            scaled ? projection * r : Value()});
}
REGISTER_GRADIENT("BatchNormWithGlobalNormalization", BatchNormWithGlobalNormalizationGrad);

// The gradients of a sum of the gradients above, with upstream gradients A for dx, and a, b, c, d
// for each channel for dm, dv, dbeta and dgamma. With S for sums over all axes but the channels', P
// = S dy (x - m), Q = S A dy - a S dy and gamma = 1 if it does not count, the sum is
//
//   r gamma Q - b P gamma r^3 / 2 + c S dy + d P r,
//
// where dr / dv = -r^3 / 2.
void BatchNormWithGlobalNormalizationGradGrad(Gradient& g) {
  const Value x = g.Input(0), m = g.Input(1), v = g.Input(2);
  const Value gamma = g.Input(3), dy = g.Input(4);
  const Value A = g.Upstream(0), a = g.Upstream(1), b = g.Upstream(2);
  const Value c = g.Upstream(3);
  const bool scaled = g.Attr<bool>("scale_after_normalization");
  const Value d = scaled ? g.Upstream(4) : ZerosLike(v);
  const Value scale = scaled ? gamma : OnesLike(v);
  const Value axes = g.Ints({0, 1, 2});
  const Value r = Rsqrt(v + g.Attr<float>("variance_epsilon"));
  const Value r2 = Square(r), slope = r * scale;
  const Value centered = x - m;
  const Value P = Sum(dy * centered, axes), sum = Sum(dy, axes);
  const Value Q = Sum(A * dy, axes) - a * sum;
  const Value by_P = d * r - 0.5 * b * slope * r2;
  const Value by_r = scale * Q - 1.5 * b * P * scale * r2 + d * P;
  const Value by_gamma = r * (Q - 0.5 * b * P * r2);
  g.Return({dy * by_P, -sum * by_P, -0.5 * r2 * r * by_r, scaled ? by_gamma : Value(),
            (A - a) * slope + c + centered * by_P});
}
REGISTER_GRADIENT("BatchNormWithGlobalNormalizationGrad", BatchNormWithGlobalNormalizationGradGrad);

}  // namespace
}  // namespace tensorflow_ext
