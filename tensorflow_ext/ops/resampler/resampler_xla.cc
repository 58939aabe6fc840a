// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <vector>

#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/pixels_xla.h"
#include "tensorflow_ext/kernels/regions_xla.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "tensorflow_ext/ops/resampler/resampler.h"
#include "tensorflow_ext/ops/resampler/resampler_checks.h"
#include "tensorflow_ext/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/comparators.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernel;
using tensorflow::XlaOpKernelContext;
using xla::ScalarLike;
using xla::XlaOp;
using xla::ZerosLike;

// FindCell of resampler.h for all points, each of shape [P].
struct Cells {
  Cells(XlaOp warp, const ResamplerDims& dims, xla::PrimitiveType computed)
      : dims(dims), count(dims.all_points()) {
    const XlaOp points =
        xla::ConvertElementType(xla::Reshape(warp, {count, 2}), computed);
    const XlaOp all_x = Coordinate(points, 0), all_y = Coordinate(points, 1);
    inside =
        xla::And(IsInside(all_x, dims.width), IsInside(all_y, dims.height));
    const XlaOp px = xla::Select(inside, all_x, ZerosLike(all_x));
    const XlaOp py = xla::Select(inside, all_y, ZerosLike(all_y));
    x = xla::ConvertElementType(xla::Floor(px), xla::S32);
    y = xla::ConvertElementType(xla::Floor(py), xla::S32);
    fx = xla::Sub(px, xla::Floor(px));
    fy = xla::Sub(py, xla::Floor(py));
    image = xla::Div(
        xla::Iota(warp.builder(), xla::ShapeUtil::MakeShape(xla::S32, {count}),
                  /*iota_dimension=*/0),
        xla::ConstantR0<int32_t>(warp.builder(), dims.points));
  }

  // Corner k: where it is, whether it is a pixel, and its weight.
  XlaOp Column(int k) const { return xla::Add(x, ScalarLike(x, k & 1)); }
  XlaOp Row(int k) const { return xla::Add(y, ScalarLike(y, k >> 1)); }
  XlaOp IsPixel(int k) const {
    return xla::And(inside, xla::And(IsIndex(Column(k), dims.width),
                                     IsIndex(Row(k), dims.height)));
  }
  XlaOp Weight(int k, ResamplerOrder order) const {
    return xla::Mul(Side(fx, k & 1, order.x), Side(fy, k >> 1, order.y));
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
    return xla::Reshape(xla::SliceInDim(points, k, k + 1, 1, /*dimno=*/1),
                        {count});
  }
  static XlaOp IsInside(XlaOp coordinate, int64_t size) {
    return xla::And(xla::Gt(coordinate, ScalarLike(coordinate, -1)),
                    xla::Lt(coordinate, ScalarLike(coordinate, size)));
  }
  static XlaOp IsIndex(XlaOp index, int64_t size) {
    return xla::And(xla::Ge(index, ZerosLike(index)),
                    xla::Lt(index, ScalarLike(index, size)));
  }
  static XlaOp Side(XlaOp fraction, int high, int32_t order) {
    if (order == 1) return xla::FullLike(fraction, high ? 1 : -1);
    return high ? fraction : xla::Sub(ScalarLike(fraction, 1), fraction);
  }
};

// Corner k of every point, [P, C]; 0 where `counts` does not hold.
XlaOp CornerValues(XlaOp data, const Cells& cells, int k, XlaOp counts,
                   xla::PrimitiveType computed) {
  const XlaOp values = xla::ConvertElementType(
      GatherPixels(
          data,
          PixelIndex(cells.image, cells.Row(k), cells.Column(k), {cells.count}),
          /*rank=*/2, cells.dims.channels),
      computed);
  return xla::Select(cells.OverChannels(counts), values, ZerosLike(values));
}

XlaOp Zeros(XlaOpKernelContext* context, xla::PrimitiveType type,
            const TensorShape& shape) {
  return xla::Broadcast(xla::Zero(context->builder(), type), shape.dim_sizes());
}

// ResampleCpu of resampler.h; the output has `shape`.
XlaOp Resample(XlaOpKernelContext* context, const ResamplerDims& dims,
               ResamplerOrder order, XlaOp data, XlaOp warp,
               const TensorShape& shape) {
  const xla::PrimitiveType type = context->input_xla_type(0);
  if (shape.num_elements() == 0 || dims.image_size() == 0) {
    return Zeros(context, type, shape);
  }
  const xla::PrimitiveType computed = ComputedType(type);
  const Cells cells(warp, dims, computed);
  XlaOp sum =
      Zeros(context, computed, TensorShape({cells.count, dims.channels}));
  for (int k = 0; k < 4; ++k) {
    const XlaOp weight = cells.Weight(k, order);
    const XlaOp counts =
        xla::And(cells.IsPixel(k), xla::Ne(weight, ZerosLike(weight)));
    sum =
        xla::Add(sum, xla::Mul(cells.OverChannels(weight),
                               CornerValues(data, cells, k, counts, computed)));
  }
  return xla::Reshape(xla::ConvertElementType(sum, type), shape.dim_sizes());
}

// Its adjoint: the gradient of data, whose shape is `shape`.
XlaOp Adjoint(XlaOpKernelContext* context, const ResamplerDims& dims,
              ResamplerOrder order, XlaOp gradients, XlaOp warp,
              const TensorShape& shape) {
  const xla::PrimitiveType type = context->input_xla_type(0);
  if (shape.num_elements() == 0 || dims.points == 0) {
    return Zeros(context, type, shape);
  }
  const xla::PrimitiveType computed = ComputedType(type);
  const Cells cells(warp, dims, computed);
  const XlaOp upstream = xla::ConvertElementType(
      xla::Reshape(gradients, {cells.count, dims.channels}), computed);
  std::vector<XlaOp> indices, updates;
  for (int k = 0; k < 4; ++k) {
    const XlaOp weight = cells.Weight(k, order);
    const XlaOp counts =
        xla::And(cells.IsPixel(k), xla::Ne(weight, ZerosLike(weight)));
    // No image has the index `images`.
    indices.push_back(
        PixelIndex(xla::Select(counts, cells.image,
                               xla::FullLike(cells.image, dims.images)),
                   cells.Row(k), cells.Column(k), {cells.count}));
    updates.push_back(xla::Mul(cells.OverChannels(weight), upstream));
  }
  const XlaOp sums = AddPixels(Zeros(context, computed, shape),
                               xla::ConcatInDim(context->builder(), indices, 0),
                               xla::ConcatInDim(context->builder(), updates, 0),
                               /*rank=*/2, computed);
  return xla::ConvertElementType(sums, type);
}

// The gradient of order (0, 0) with respect to warp, whose shape is `shape`.
XlaOp WarpGrad(XlaOpKernelContext* context, const ResamplerDims& dims,
               XlaOp gradients, XlaOp data, XlaOp warp,
               const TensorShape& shape) {
  const xla::PrimitiveType type = context->input_xla_type(0);
  if (shape.num_elements() == 0 || dims.image_size() == 0) {
    return Zeros(context, type, shape);
  }
  const xla::PrimitiveType computed = ComputedType(type);
  const Cells cells(warp, dims, computed);
  const XlaOp upstream = xla::ConvertElementType(
      xla::Reshape(gradients, {cells.count, dims.channels}), computed);
  XlaOp v[4];
  for (int k = 0; k < 4; ++k) {
    v[k] = CornerValues(data, cells, k, cells.IsPixel(k), computed);
  }
  // Between low and high corners, interpolated along the other coordinate.
  const auto derivative = [&](XlaOp low, XlaOp high, XlaOp fraction) {
    const XlaOp f = cells.OverChannels(fraction);
    const XlaOp slope = xla::Add(xla::Mul(low, xla::Sub(ScalarLike(f, 1), f)),
                                 xla::Mul(high, f));
    const XlaOp sum = xla::Reduce(
        xla::Mul(upstream, slope), xla::Zero(context->builder(), computed),
        xla::CreateScalarAddComputation(computed, context->builder()), {1});
    return xla::Reshape(xla::Select(cells.inside, sum, ZerosLike(sum)),
                        {cells.count, 1});
  };
  const XlaOp by_x =
      derivative(xla::Sub(v[1], v[0]), xla::Sub(v[3], v[2]), cells.fy);
  const XlaOp by_y =
      derivative(xla::Sub(v[2], v[0]), xla::Sub(v[3], v[1]), cells.fx);
  return xla::Reshape(
      xla::ConvertElementType(
          xla::ConcatInDim(context->builder(), {by_x, by_y}, 1), type),
      shape.dim_sizes());
}

// Resampler, and ResamplerDerivative, which has an order.
class ResamplerXlaOp : public XlaOpKernel {
 public:
  explicit ResamplerXlaOp(OpKernelConstruction* context)
      : XlaOpKernel(context) {
    if (context->HasAttr("x_order")) {
      OP_REQUIRES_OK(context, ReadOrder(context, type_string(), &order_));
    }
  }

  void Compile(XlaOpKernelContext* context) override {
    TensorShape data, warp, output;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &data));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &warp));
    ResamplerDims dims;
    OP_REQUIRES_OK(context, ReadResamplerDims(type_string(), "data", data, warp,
                                              &dims, &output));
    context->SetOutput(0, Resample(context, dims, order_, context->Input(0),
                                   context->Input(1), output));
  }

 private:
  ResamplerOrder order_ = {0, 0};
};
REGISTER_XLA_OP(Name("TfExt>Resampler"), ResamplerXlaOp);
REGISTER_XLA_OP(Name("TfExt>ResamplerDerivative"), ResamplerXlaOp);

class ResamplerGradXlaOp : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    TensorShape gradients, data, warp, output;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &gradients));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &data));
    OP_REQUIRES_OK(context, XlaInputShape(context, 2, &warp));
    ResamplerDims dims;
    OP_REQUIRES_OK(context, ReadResamplerDims(type_string(), "data", data, warp,
                                              &dims, &output));
    OP_REQUIRES_OK(context,
                   CheckResamplerGradients(type_string(), gradients, output));
    context->SetOutput(0, Adjoint(context, dims, {0, 0}, context->Input(0),
                                  context->Input(2), data));
    context->SetOutput(1, WarpGrad(context, dims, context->Input(0),
                                   context->Input(1), context->Input(2), warp));
  }
};
REGISTER_XLA_OP(Name("TfExt>ResamplerGrad"), ResamplerGradXlaOp);

class ResamplerAdjointXlaOp : public XlaOpKernel {
 public:
  explicit ResamplerAdjointXlaOp(OpKernelConstruction* context)
      : XlaOpKernel(context) {
    OP_REQUIRES_OK(context, ReadOrder(context, type_string(), &order_));
  }

  void Compile(XlaOpKernelContext* context) override {
    TensorShape gradients, warp, data, output;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &gradients));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &warp));
    OP_REQUIRES_OK(context, context->ConstantInputAsShape(2, &data));
    ResamplerDims dims;
    OP_REQUIRES_OK(context, ReadResamplerDims(type_string(), "data_shape", data,
                                              warp, &dims, &output));
    OP_REQUIRES_OK(context,
                   CheckResamplerGradients(type_string(), gradients, output));
    context->SetOutput(0, Adjoint(context, dims, order_, context->Input(0),
                                  context->Input(1), data));
  }

 private:
  ResamplerOrder order_;
};
REGISTER_XLA_OP(
    Name("TfExt>ResamplerAdjoint").CompileTimeConstantInput("data_shape"),
    ResamplerAdjointXlaOp);

}  // namespace
}  // namespace tensorflow_ext
