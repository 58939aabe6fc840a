// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
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

// FindCell of resampler.h for all points, each of shape [P].
struct Cells {
  Cells(XlaOp warp, const ResamplerDims& dims)
      : dims(dims), count(dims.all_points()) {
    const XlaOp points =
        xla::ConvertElementType(xla::Reshape(warp, {count, 2}),
                                xla::ComputeType(xla::ElementType(warp)));
    const XlaOp all_x = Coordinate(points, 0), all_y = Coordinate(points, 1);
    inside = IsInside(all_x, dims.width) & IsInside(all_y, dims.height);
    const XlaOp px = Select(inside, all_x, 0), py = Select(inside, all_y, 0);
    x = xla::ConvertElementType(xla::Floor(px), xla::S32);
    y = xla::ConvertElementType(xla::Floor(py), xla::S32);
    fx = px - xla::Floor(px);
    fy = py - xla::Floor(py);
    image = xla::Iota(warp.builder(), xla::S32, {count}, /*dimension=*/0) /
            dims.points;
  }

  // Corner k: where it is, whether it is a pixel, and its weight.
  XlaOp Column(int k) const { return x + (k & 1); }
  XlaOp Row(int k) const { return y + (k >> 1); }
  XlaOp IsPixel(int k) const {
    return inside & IsIndex(Column(k), dims.width) &
           IsIndex(Row(k), dims.height);
  }
  XlaOp Weight(int k, ResamplerOrder order) const {
    return Side(fx, k & 1, order.x) * Side(fy, k >> 1, order.y);
  }

  // A value of each point for all of its channels.
  XlaOp OverChannels(XlaOp points) const {
    return xla::BroadcastInDim(points, {count, dims.channels}, {0});
  }

  const ResamplerDims dims;
  const int64_t count;
  XlaOp inside, x, y, fx, fy, image;

 private:
  XlaOp Coordinate(XlaOp points, int64_t k) const {
    return xla::Reshape(xla::SliceInDim(points, k, k + 1, /*dimension=*/1),
                        {count});
  }
  static XlaOp IsInside(XlaOp coordinate, int64_t size) {
    return (coordinate > -1) & (coordinate < size);
  }
  static XlaOp IsIndex(XlaOp index, int64_t size) {
    return (index >= 0) & (index < size);
  }
  static XlaOp Side(XlaOp fraction, int high, int32_t order) {
    if (order == 1) return xla::FullLike(fraction, high ? 1 : -1);
    return high ? fraction : 1 - fraction;
  }
};

// Corner k of every point, [P, C], in the compute type; 0 where `counts` does
// not hold.
XlaOp CornerValues(XlaOp data, const Cells& cells, int k, XlaOp counts) {
  const XlaOp values = xla::GatherNd(
      data,
      PixelIndex(cells.image, cells.Row(k), cells.Column(k), {cells.count}));
  return Select(
      cells.OverChannels(counts),
      xla::ConvertElementType(values, xla::ComputeType(xla::ElementType(data))),
      0);
}

XlaOp ComputeZeros(LoweringContext* context, const TensorShape& shape) {
  return xla::Zeros(context->builder(), context->ComputeType(0),
                    shape.dim_sizes());
}

// ResampleCpu of resampler.h; the output has `shape`.
XlaOp Resample(LoweringContext* context, const ResamplerDims& dims,
               ResamplerOrder order, XlaOp data, XlaOp warp,
               const TensorShape& shape) {
  if (shape.num_elements() == 0 || dims.image_size() == 0) {
    return ComputeZeros(context, shape);
  }
  const Cells cells(warp, dims);
  XlaOp sum = ComputeZeros(context, TensorShape({cells.count, dims.channels}));
  for (int k = 0; k < 4; ++k) {
    const XlaOp weight = cells.Weight(k, order);
    const XlaOp counts = cells.IsPixel(k) & (weight != 0);
    sum =
        sum + cells.OverChannels(weight) * CornerValues(data, cells, k, counts);
  }
  return xla::Reshape(sum, shape.dim_sizes());
}

// Its adjoint: the gradient of data, whose shape is `shape`. `gradients` are in
// the compute type.
XlaOp Adjoint(LoweringContext* context, const ResamplerDims& dims,
              ResamplerOrder order, XlaOp gradients, XlaOp warp,
              const TensorShape& shape) {
  const XlaOp zeros = ComputeZeros(context, shape);
  if (shape.num_elements() == 0 || dims.points == 0) return zeros;
  const Cells cells(warp, dims);
  const XlaOp upstream = xla::Reshape(gradients, {cells.count, dims.channels});
  std::vector<XlaOp> indices, updates;
  for (int k = 0; k < 4; ++k) {
    const XlaOp weight = cells.Weight(k, order);
    const XlaOp counts = cells.IsPixel(k) & (weight != 0);
    // No image has the index `images`.
    indices.push_back(PixelIndex(Select(counts, cells.image, dims.images),
                                 cells.Row(k), cells.Column(k), {cells.count}));
    updates.push_back(cells.OverChannels(weight) * upstream);
  }
  return xla::ScatterAddNd(zeros, xla::ConcatInDim(indices, 0),
                           xla::ConcatInDim(updates, 0));
}

// The gradient of order (0, 0) with respect to warp, whose shape is `shape`.
XlaOp WarpGrad(LoweringContext* context, const ResamplerDims& dims,
               XlaOp gradients, XlaOp data, XlaOp warp,
               const TensorShape& shape) {
  if (shape.num_elements() == 0 || dims.image_size() == 0) {
    return ComputeZeros(context, shape);
  }
  const Cells cells(warp, dims);
  const XlaOp upstream = xla::Reshape(gradients, {cells.count, dims.channels});
  XlaOp v[4];
  for (int k = 0; k < 4; ++k) {
    v[k] = CornerValues(data, cells, k, cells.IsPixel(k));
  }
  // Between low and high corners, interpolated along the other coordinate.
  const auto derivative = [&](XlaOp low, XlaOp high, XlaOp fraction) {
    const XlaOp f = cells.OverChannels(fraction);
    const XlaOp slope = low * (1 - f) + high * f;
    const XlaOp sum = xla::ReduceSum(upstream * slope, {1});
    return xla::Reshape(Select(cells.inside, sum, 0), {cells.count, 1});
  };
  const XlaOp by_x = derivative(v[1] - v[0], v[3] - v[2], cells.fy);
  const XlaOp by_y = derivative(v[2] - v[0], v[3] - v[1], cells.fx);
  return xla::Reshape(xla::ConcatInDim({by_x, by_y}, 1), shape.dim_sizes());
}

// Resampler, and ResamplerDerivative, which has an order.
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
    TF_RETURN_IF_ERROR(
        ReadResamplerDims(context->op(), "data", data, warp, &dims, &output));
    context->SetOutput(0, Resample(context, dims, order_, context->Input(0),
                                   context->Input(1), output));
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
    TF_RETURN_IF_ERROR(
        ReadResamplerDims(context->op(), "data", data, warp, &dims, &output));
    TF_RETURN_IF_ERROR(
        CheckResamplerGradients(context->op(), gradients, output));
    const XlaOp upstream = context->ComputeInput(0);
    context->SetOutput(
        0, Adjoint(context, dims, {0, 0}, upstream, context->Input(2), data));
    context->SetOutput(1, WarpGrad(context, dims, upstream, context->Input(1),
                                   context->Input(2), warp));
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
    TF_RETURN_IF_ERROR(ReadResamplerDims(context->op(), "data_shape", data,
                                         warp, &dims, &output));
    TF_RETURN_IF_ERROR(
        CheckResamplerGradients(context->op(), gradients, output));
    context->SetOutput(0,
                       Adjoint(context, dims, order_, context->ComputeInput(0),
                               context->Input(1), data));
    return absl::OkStatus();
  }

  ResamplerOrder order_;
};
REGISTER_LOWERING(
    Name("TfExt>ResamplerAdjoint").CompileTimeConstantInput("data_shape"),
    ResamplerAdjointLowering);

}  // namespace
}  // namespace tensorflow_ext
