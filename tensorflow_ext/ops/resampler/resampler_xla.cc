#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "tensorflow_ext/ops/resampler/resampler.h"
#include "tensorflow_ext/ops/resampler/resampler_checks.h"
#include "tensorflow_ext/xla/images.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using tensorflow::TensorShape;
using xla::Select;
using xla::XlaOp;

// FindCell of resampler.h for all points. All members have the shape of warp without its
// coordinates. If they were reshaped before the output, XLA would divide the index of every
// element.
struct Cells {
  Cells(XlaOp warp, const TensorShape& warp_shape, const ResamplerDims& dims) : dims(dims) {
    const auto sizes = warp_shape.dim_sizes();
    points.assign(sizes.begin(), sizes.end() - 1);
    const XlaOp points_of_compute_type =
        xla::ConvertElementType(warp, xla::ComputeType(xla::ElementType(warp)));
    const XlaOp all_x = Coordinate(points_of_compute_type, 0);
    const XlaOp all_y = Coordinate(points_of_compute_type, 1);
    const XlaOp px = OrOutside(all_x, dims.width);
    const XlaOp py = OrOutside(all_y, dims.height);
    x = xla::ConvertElementType(xla::Floor(px), xla::S32);
    y = xla::ConvertElementType(xla::Floor(py), xla::S32);
    fx = px - xla::Floor(px);
    fy = py - xla::Floor(py);
    image = xla::Iota(warp.builder(), xla::S32, points, /*dimension=*/0);
  }

  // Corner k: its position, whether it is a pixel, and its weight, which is 0 if it is no pixel.
  XlaOp Column(int k) const { return x + (k & 1); }
  XlaOp Row(int k) const { return y + (k >> 1); }
  XlaOp IsPixel(int k) const {
    return IsIndex(Column(k), dims.width) & IsIndex(Row(k), dims.height);
  }
  XlaOp Weight(int k, ResamplerOrder order) const {
    return Select(IsPixel(k), Side(fx, k & 1, order.x) * Side(fy, k >> 1, order.y), 0);
  }

  // Broadcasts a value of each point to all channels.
  XlaOp OverChannels(XlaOp of_points) const {
    std::vector<int64_t> sizes = points, dimensions(points.size());
    sizes.push_back(dims.channels);
    std::iota(dimensions.begin(), dimensions.end(), 0);
    return xla::BroadcastInDim(of_points, sizes, dimensions);
  }
  int64_t channel_dimension() const { return points.size(); }

  const ResamplerDims dims;
  std::vector<int64_t> points;
  XlaOp x, y, fx, fy, image;

 private:
  XlaOp Coordinate(XlaOp all, int64_t k) const {
    return xla::Reshape(xla::SliceInDim(all, k, k + 1, channel_dimension()), points);
  }
  static XlaOp OrOutside(XlaOp coordinate, int64_t size) {
    return Select((coordinate > -1) & (coordinate < size), coordinate, -2);
  }
  static XlaOp IsIndex(XlaOp index, int64_t size) { return (index >= 0) & (index < size); }
  static XlaOp Side(XlaOp fraction, int high, int32_t order) {
    if (order == 1) return xla::FullLike(fraction, high ? 1 : -1);
    return high ? fraction : 1 - fraction;
  }
};

// Corner k of every point, for all channels, in the compute type. If the corner is no pixel, the
// result is some other pixel.
XlaOp CornerValues(XlaOp data, const Cells& cells, int k) {
  const XlaOp values =
      xla::GatherNd(data, PixelIndex(cells.image, cells.Row(k), cells.Column(k), cells.points));
  return xla::ConvertElementType(values, xla::ComputeType(xla::ElementType(data)));
}

// weight * values for all channels. It is 0 where the weight is 0, even if the value is infinite or
// NaN.
XlaOp Weighted(const Cells& cells, XlaOp weight, XlaOp values) {
  const XlaOp weights = cells.OverChannels(weight);
  const XlaOp product = weights * values;
  if (!cells.dims.has_few_channels()) return Select(weights != 0, product, 0);
  // LLVM moves a condition that all channels share out of their loop. If that is short, the
  // branches cost most, because nothing is vectorized over points. This condition uses the product,
  // so it stays in the loop.
  const XlaOp instead_of_nan =
      Select(weight != 0, std::numeric_limits<double>::quiet_NaN(), xla::ZerosLike(weight));
  return Select(product == product, product, cells.OverChannels(instead_of_nan));
}

XlaOp ComputeZeros(LoweringContext* context, const TensorShape& shape) {
  return xla::Zeros(context->builder(), context->ComputeType(0), shape.dim_sizes());
}

// ResampleCpu of resampler.h. The output has `shape`.
XlaOp Resample(LoweringContext* context, const ResamplerDims& dims, ResamplerOrder order,
               XlaOp data, XlaOp warp, const TensorShape& warp_shape, const TensorShape& shape) {
  if (shape.num_elements() == 0 || dims.image_size() == 0) {
    return ComputeZeros(context, shape);
  }
  const Cells cells(warp, warp_shape, dims);
  XlaOp sum = ComputeZeros(context, shape);
  for (int k = 0; k < 4; ++k) {
    const XlaOp weight = cells.Weight(k, order);
    sum = sum + Weighted(cells, weight, CornerValues(data, cells, k));
  }
  return sum;
}

// The adjoint: the gradient of data, with data's `shape`. `gradients` are in the compute type.
XlaOp Adjoint(LoweringContext* context, const ResamplerDims& dims, ResamplerOrder order,
              XlaOp gradients, XlaOp warp, const TensorShape& warp_shape,
              const TensorShape& shape) {
  const XlaOp zeros = ComputeZeros(context, shape);
  if (shape.num_elements() == 0 || dims.points == 0) return zeros;
  const Cells cells(warp, warp_shape, dims);
  XlaOp sum = zeros;
  for (int k = 0; k < 4; ++k) {
    const XlaOp weight = cells.Weight(k, order);
    // No image has the index `images`.
    const XlaOp image = Select(weight != 0, cells.image, dims.images);
    const XlaOp index = PixelIndex(image, cells.Row(k), cells.Column(k), cells.points);
    sum = xla::ScatterAddNd(sum, index, cells.OverChannels(weight) * gradients);
  }
  return sum;
}

// The gradient of order (0, 0) with respect to warp, with warp's `shape`.
XlaOp WarpGrad(LoweringContext* context, const ResamplerDims& dims, XlaOp gradients, XlaOp data,
               XlaOp warp, const TensorShape& shape) {
  if (shape.num_elements() == 0 || dims.image_size() == 0) {
    return ComputeZeros(context, shape);
  }
  const Cells cells(warp, shape, dims);
  XlaOp v[4];
  for (int k = 0; k < 4; ++k) {
    v[k] = Select(cells.OverChannels(cells.IsPixel(k)), CornerValues(data, cells, k), 0);
  }
  std::vector<int64_t> one_coordinate = cells.points;
  one_coordinate.push_back(1);
  // The difference of two corners, interpolated along the other coordinate.
  const auto derivative = [&](XlaOp low, XlaOp high, XlaOp fraction) {
    const XlaOp f = cells.OverChannels(fraction);
    const XlaOp slope = low * (1 - f) + high * f;
    const XlaOp sum = xla::ReduceSum(gradients * slope, {cells.channel_dimension()});
    return xla::Reshape(Select((cells.x >= -1) & (cells.y >= -1), sum, 0), one_coordinate);
  };
  const XlaOp by_x = derivative(v[1] - v[0], v[3] - v[2], cells.fy);
  const XlaOp by_y = derivative(v[2] - v[0], v[3] - v[1], cells.fx);
  return xla::ConcatInDim({by_x, by_y}, cells.channel_dimension());
}

// Resampler and ResamplerDerivative. Only ResamplerDerivative has an order.
class ResamplerLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    if (!context->HasAttr("x_order")) return absl::OkStatus();
    return ReadOrder(context, context->op(), &order_);
  }

  absl::Status Compile(LoweringContext* context) const override {
    TensorShape data, warp, output;
    TF_RETURN_IF_ERROR(context->InputShape(0, &data));
    TF_RETURN_IF_ERROR(context->InputShape(1, &warp));
    ResamplerDims dims;
    TF_RETURN_IF_ERROR(ReadResamplerDims(context->op(), "data", data, warp, &dims, &output));
    context->SetOutput(
        0, Resample(context, dims, order_, context->Input(0), context->Input(1), warp, output));
    return absl::OkStatus();
  }

  ResamplerOrder order_ = {0, 0};
};
REGISTER_LOWERING(Name("TfExt>Resampler"), ResamplerLowering);
REGISTER_LOWERING(Name("TfExt>ResamplerDerivative"), ResamplerLowering);

class ResamplerGradLowering : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    TensorShape gradients, data, warp, output;
    TF_RETURN_IF_ERROR(context->InputShape(0, &gradients));
    TF_RETURN_IF_ERROR(context->InputShape(1, &data));
    TF_RETURN_IF_ERROR(context->InputShape(2, &warp));
    ResamplerDims dims;
    TF_RETURN_IF_ERROR(ReadResamplerDims(context->op(), "data", data, warp, &dims, &output));
    TF_RETURN_IF_ERROR(CheckResamplerGradients(context->op(), gradients, output));
    const XlaOp upstream = context->ComputeInput(0);
    context->SetOutput(0, Adjoint(context, dims, {0, 0}, upstream, context->Input(2), warp, data));
    context->SetOutput(
        1, WarpGrad(context, dims, upstream, context->Input(1), context->Input(2), warp));
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>ResamplerGrad"), ResamplerGradLowering);

class ResamplerAdjointLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return ReadOrder(context, context->op(), &order_);
  }

  absl::Status Compile(LoweringContext* context) const override {
    TensorShape gradients, warp, data, output;
    TF_RETURN_IF_ERROR(context->InputShape(0, &gradients));
    TF_RETURN_IF_ERROR(context->InputShape(1, &warp));
    TF_RETURN_IF_ERROR(context->ConstantInputAsShape(2, &data));
    ResamplerDims dims;
    TF_RETURN_IF_ERROR(ReadResamplerDims(context->op(), "data_shape", data, warp, &dims, &output));
    TF_RETURN_IF_ERROR(CheckResamplerGradients(context->op(), gradients, output));
    context->SetOutput(
        0, Adjoint(context, dims, order_, context->ComputeInput(0), context->Input(1), warp, data));
    return absl::OkStatus();
  }

  ResamplerOrder order_;
};
REGISTER_LOWERING(Name("TfExt>ResamplerAdjoint").CompileTimeConstantInput("data_shape"),
                  ResamplerAdjointLowering);

}  // namespace
}  // namespace tensorflow_ext
