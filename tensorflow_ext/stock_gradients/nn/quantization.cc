// Rounding has a derivative of zero almost everywhere. Quantization-aware training uses the
// straight-through estimate instead: the gradient passes where the input is within the range, and
// elsewhere goes to the bound that clips it (Krishnamoorthi, "Quantizing deep convolutional
// networks for efficient inference", 2018).

#include <cstdint>
#include <string>
#include <utility>

#include "tensorflow/core/framework/types.pb.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

void FakeQuantWithMinMaxArgsGrad(Gradient& g) {
  g.Return({Call("FakeQuantWithMinMaxArgsGradient", {g.Upstream(), g.Input(0)},
                 g.AttrsOfOp({"min", "max", "num_bits", "narrow_range"}))});
}
REGISTER_GRADIENT("FakeQuantWithMinMaxArgs", FakeQuantWithMinMaxArgsGrad);

void FakeQuantWithMinMax(Gradient& g, const char* gradient_op) {
  const Values d = CallAll(gradient_op, {g.Upstream(), g.Input(0), g.Input(1), g.Input(2)},
                           g.AttrsOfOp({"num_bits", "narrow_range"}));
  g.Return({d[0], d[1], d[2]});
}
void FakeQuantWithMinMaxVarsGrad(Gradient& g) {
  FakeQuantWithMinMax(g, "FakeQuantWithMinMaxVarsGradient");
}
void FakeQuantWithMinMaxVarsPerChannelGrad(Gradient& g) {
  FakeQuantWithMinMax(g, "FakeQuantWithMinMaxVarsPerChannelGradient");
}
REGISTER_GRADIENT("FakeQuantWithMinMaxVars", FakeQuantWithMinMaxVarsGrad);
REGISTER_GRADIENT("FakeQuantWithMinMaxVarsPerChannel", FakeQuantWithMinMaxVarsPerChannelGrad);

// These gradients are linear in dy. With the range as an attribute, they are a mask.
void FakeQuantWithMinMaxArgsGradientGrad(Gradient& g) {
  g.Return({g.Call(g.op(), {g.Upstream(), g.Input(1)},
                   g.AttrsOfOp({"min", "max", "num_bits", "narrow_range"})),
            Value()});
}
REGISTER_GRADIENT("FakeQuantWithMinMaxArgsGradient", FakeQuantWithMinMaxArgsGradientGrad);

// If the range is an input, each dy goes to one of x, min and max, and its gradient is the upstream
// gradient of that one. The range in use contains 0, so a negative value outside is below it and a
// positive value above it.
void FakeQuantWithMinMaxGradientGrad(Gradient& g) {
  const Value x = g.Input(1);
  const Value passes = g.Call(g.op(), {OnesLike(x), x, g.Input(2), g.Input(3)},
                              g.AttrsOfOp({"num_bits", "narrow_range"}));
  const Value clipped = Where(Less(x, 0), g.Upstream(1), g.Upstream(2));
  g.Return({Where(Greater(passes, 0), g.Upstream(0), clipped), Value(), Value(), Value()});
}
REGISTER_GRADIENT("FakeQuantWithMinMaxVarsGradient", FakeQuantWithMinMaxGradientGrad);
REGISTER_GRADIENT("FakeQuantWithMinMaxVarsPerChannelGradient", FakeQuantWithMinMaxGradientGrad);

// These pass the gradient everywhere, as in Python.
void QuantizeAndDequantizeGrad(Gradient& g) { g.ReturnFirst(g.Upstream()); }
REGISTER_GRADIENT("QuantizeAndDequantize", QuantizeAndDequantizeGrad);
REGISTER_GRADIENT("QuantizeAndDequantizeV2", QuantizeAndDequantizeGrad);
REGISTER_GRADIENT("QuantizeAndDequantizeV3", QuantizeAndDequantizeGrad);

// TensorFlow's client gradient returns the shape in place of x.
void QuantizeAndDequantizeV4Grad(Gradient& g) {
  g.Return(CallAll("QuantizeAndDequantizeV4Grad",
                   {g.Upstream(), g.Input(0), g.Input(1), g.Input(2)}, g.AttrsOfOp({"axis"})));
}
REGISTER_STAND_IN("QuantizeAndDequantizeV4", QuantizeAndDequantizeV4Grad);

// dx = dy where min <= x <= max, else 0; min and max have gradient 0. This is linear in dy and its
// own adjoint.
void QuantizeAndDequantizeV4GradGrad(Gradient& g) {
  g.Return({Call("QuantizeAndDequantizeV4Grad", {g.Upstream(0), g.Input(1), g.Input(2), g.Input(3)},
                 g.AttrsOfOp({"axis"})),
            Value(), Value(), Value()});
}
REGISTER_GRADIENT("QuantizeAndDequantizeV4Grad", QuantizeAndDequantizeV4GradGrad);

// ---- From quantized to real numbers, which is differentiable with respect to
// the range or the scales.

// The sum of `v` for each slice along the op's attribute `axis`, in the shape of `like`; the sum of
// all if the axis is -1.
Value SumOfSlices(Value v, int64_t axis, Value like) {
  Gradient& g = *v.gradient();
  Value sums;
  if (axis < 0) {
    sums = SumAll(v);
  } else {
    const Value shape = Shape(v), zero = g.Int(0);
    const auto size = [&](int64_t begin, int64_t end) {
      return Prod(SliceVector(shape, begin, end), zero);
    };
    const Value cube = Pack({size(0, axis), Element(shape, axis), size(axis + 1, kToTheEnd)});
    sums = Sum(Reshape(v, cube), g.Ints({0, 2}));
  }
  return ReshapeLike(sums, like);
}

// The least and greatest value of a quantized type.
std::pair<double, double> RangeOf(DataType type) {
  switch (type) {
    case tensorflow::DT_QINT8:
      return {-128, 127};
    case tensorflow::DT_QUINT8:
      return {0, 255};
    case tensorflow::DT_QINT16:
      return {-32768, 32767};
    case tensorflow::DT_QUINT16:
      return {0, 65535};
    default:
      return {-2147483648.0, 2147483647.0};
  }
}

// With the quantized numbers q and the range [min, max] of the real numbers:
//
//   MIN_COMBINED  y = min + (max - min) t,  t in [0, 1] from q
//   MIN_FIRST     y = n (max - min) / number of steps,  n whole
//   SCALED        y = q s,  s = max(min / least q, max / greatest q)
//
// where t is y for the range [0, 1]. MIN_FIRST shifts the range so that it contains 0 exactly,
// which does not change n except at steps.
void DequantizeGrad(Gradient& g) {
  const Value q = g.Input(0), min = g.Input(1), max = g.Input(2);
  const std::string mode = g.Attr<std::string>("mode");
  const int64_t axis = g.Attr<int64_t>("axis");
  const Value dy = Cast(g.Upstream(), DT_FLOAT);
  const auto sums = [&](Value v) { return SumOfSlices(v, axis, min); };
  const Attributes same = g.AttrsOfOp({"mode", "narrow_range", "axis"});
  const auto dequantized = [&](Value low, Value high) {
    Attributes attributes = same;
    attributes.push_back({"dtype", OfOp{"dtype"}});
    return Cast(g.Call(g.op(), {q, low, high}, attributes), DT_FLOAT);
  };
  Value by_min, by_max;
  if (mode == "MIN_COMBINED") {
    by_max = sums(dy * dequantized(ZerosLike(min), OnesLike(max)));
    by_min = sums(dy) - by_max;
  } else if (mode == "MIN_FIRST") {
    by_max = sums(dy * Cast(g.Output(), DT_FLOAT)) / (max - min);
    by_min = -by_max;
  } else {
    auto [least, greatest] = RangeOf(q.type());
    if (g.Attr<bool>("narrow_range")) ++least;
    by_max = sums(dy * dequantized(ZerosLike(min), OnesLike(max)));
    if (least < 0) {
      const Value by_scale = by_max;
      const Value by_high = GreaterEqual(max / greatest, min / least);
      by_max = Where(by_high, by_scale, 0);
      by_min = Where(by_high, 0, by_scale * (greatest / least));
    }
  }
  g.Return({Value(), by_min, by_max});
}
REGISTER_GRADIENT("Dequantize", DequantizeGrad);

// y = (q - zero point) scale
void UniformDequantizeGrad(Gradient& g) {
  const Value scales = g.Input(1);
  const Value steps = g.Call(
      g.op(), {g.Input(0), OnesLike(scales), g.Input(2)},
      g.AttrsOfOp({"quantization_axis", "quantization_min_val", "quantization_max_val", "Tout"}));
  g.Return({Value(),
            SumOfSlices(g.Upstream() * steps, g.Attr<int64_t>("quantization_axis"), scales),
            Value()});
}
REGISTER_GRADIENT("UniformDequantize", UniformDequantizeGrad);

}  // namespace
}  // namespace tensorflow_ext
