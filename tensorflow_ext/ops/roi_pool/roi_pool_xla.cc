// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <vector>

#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/pixels_xla.h"
#include "tensorflow_ext/kernels/regions_attributes.h"
#include "tensorflow_ext/kernels/regions_xla.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool_checks.h"
#include "tensorflow_ext/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/comparators.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/loops.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernel;
using tensorflow::XlaOpKernelContext;
using xla::FullLike;
using xla::ScalarLike;
using xla::XlaBuilder;
using xla::XlaOp;
using xla::ZerosLike;

// ----- RoiPool: bins as in roi_pool.h, then one pixel of every bin a step. ---

class RoiPoolXlaOp : public XlaOpKernel {
 public:
  explicit RoiPoolXlaOp(OpKernelConstruction* context) : XlaOpKernel(context) {
    OP_REQUIRES_OK(context, attributes_.Read(context, type_string()));
  }

  void Compile(XlaOpKernelContext* context) override {
    TensorShape data_shape, rois_shape, shape;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &data_shape));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &rois_shape));
    RoiPoolDims dims{};
    dims.pooled_height = attributes_.pooled_height;
    dims.pooled_width = attributes_.pooled_width;
    OP_REQUIRES_OK(context,
                   ReadImageDims(type_string(), "data", data_shape, &dims));
    OP_REQUIRES_OK(context, ReadRoiDims(type_string(), rois_shape, &dims));
    OP_REQUIRES_OK(context, PooledShape(dims, &shape));
    const auto sizes = shape.dim_sizes();
    const xla::PrimitiveType type = context->input_xla_type(0);
    XlaBuilder* builder = context->builder();
    if (dims.pooled_size() == 0 || dims.images * dims.image_size() == 0) {
      context->SetOutput(0, xla::Broadcast(xla::Zero(builder, type), sizes));
      context->SetOutput(
          1, xla::Broadcast(xla::ConstantR0<int32_t>(builder, -1), sizes));
      return;
    }

    const XlaOp rois = context->Input(1);
    const xla::PrimitiveType computed = ComputedType(type);
    const Limits y =
        BinLimits(rois, dims, 2, dims.pooled_height, dims.height, computed);
    const Limits x =
        BinLimits(rois, dims, 1, dims.pooled_width, dims.width, computed);
    // Every bin's limits, [R, PH, PW].
    const auto over_bins = [&](XlaOp side, int64_t dimension) {
      return xla::BroadcastInDim(
          side, {dims.rois, dims.pooled_height, dims.pooled_width},
          {0, dimension});
    };
    const XlaOp top = over_bins(y.begin, 1), left = over_bins(x.begin, 2);
    const XlaOp image = xla::BroadcastInDim(
        RoiImages(rois, dims, computed),
        {dims.rois, dims.pooled_height, dims.pooled_width}, {0});
    const XlaOp width = xla::Sub(over_bins(x.end, 2), left);
    const XlaOp area = xla::Select(
        xla::Lt(image, FullLike(image, dims.images)),
        xla::Mul(xla::Sub(over_bins(y.end, 1), top), width), ZerosLike(width));
    const XlaOp steps =
        xla::ReduceAll(area, xla::Zero(builder, xla::S32),
                       xla::CreateScalarMaxComputation(xla::S32, builder));

    // step, steps, data, image, top, left, width, area, maximum, position.
    const std::vector<XlaOp> state = {
        xla::Zero(builder, xla::S32),
        steps,
        context->Input(0),
        image,
        top,
        left,
        xla::Max(width, FullLike(width, 1)),
        area,
        xla::Broadcast(xla::Zero(builder, type), sizes),
        xla::Broadcast(
            xla::ConstantR0<int32_t>(builder, -1),
            {dims.rois, dims.pooled_height, dims.pooled_width, dims.channels})};
    const auto result = xla::WhileLoopHelper(
        [](absl::Span<const XlaOp> s, XlaBuilder*) {
          return absl::StatusOr<XlaOp>(xla::Lt(s[0], s[1]));
        },
        [&](absl::Span<const XlaOp> s, XlaBuilder*) {
          return absl::StatusOr<std::vector<XlaOp>>(Step(dims, computed, s));
        },
        state, "RoiPool", builder);
    OP_REQUIRES_OK(context, result.status());
    const XlaOp position = (*result)[9];
    const XlaOp channel = xla::Iota(
        builder, xla::ShapeUtil::MakeShape(xla::S32, sizes), /*dim=*/3);
    context->SetOutput(0, (*result)[8]);
    context->SetOutput(
        1, xla::Select(
               xla::Lt(position, ZerosLike(position)), position,
               xla::Add(xla::Mul(position, ScalarLike(position, dims.channels)),
                        channel)));
  }

 private:
  struct Limits {
    XlaOp begin, end;  // int32 [R, bins]
  };

  // RoiBin for every region and bin along a side, whose corners are the columns
  // `first` and `first` + 2 of rois.
  Limits BinLimits(XlaOp rois, const RoiPoolDims& dims, int64_t first,
                   int64_t bins, int64_t pixels,
                   xla::PrimitiveType type) const {
    XlaBuilder* builder = rois.builder();
    const XlaOp low = RoiColumn(rois, dims.rois, first, type);
    const XlaOp high = RoiColumn(rois, dims.rois, first + 2, type);
    const XlaOp begin = Corner(low), last = Corner(high);
    const XlaOp length =
        xla::Max(xla::Add(xla::Sub(last, begin), ScalarLike(begin, 1)),
                 FullLike(begin, 1));
    const std::vector<int64_t> sizes = {dims.rois, bins};
    const XlaOp all_begin = xla::BroadcastInDim(begin, sizes, {0});
    const XlaOp all_length = xla::BroadcastInDim(length, sizes, {0});
    const XlaOp i = xla::Iota(
        builder, xla::ShapeUtil::MakeShape(xla::S64, sizes), /*dim=*/1);
    const XlaOp count = ScalarLike(i, bins);
    const auto clip = [&](XlaOp limit) {
      return xla::ConvertElementType(
          xla::Clamp(ScalarLike(limit, 0), xla::Add(all_begin, limit),
                     ScalarLike(limit, pixels)),
          xla::S32);
    };
    const XlaOp from = xla::Div(xla::Mul(i, all_length), count);
    const XlaOp to =
        xla::Div(xla::Add(xla::Mul(xla::Add(i, ScalarLike(i, 1)), all_length),
                          ScalarLike(i, bins - 1)),
                 count);
    // A NaN corner: the bins are empty.
    const XlaOp valid = xla::BroadcastInDim(
        xla::And(xla::Eq(low, low), xla::Eq(high, high)), sizes, {0});
    const XlaOp clipped = clip(from);
    return {clipped, xla::Select(valid, xla::Max(clip(to), clipped), clipped)};
  }

  // RoiCorner, int64 [R]; 0 for NaN.
  XlaOp Corner(XlaOp corner) const {
    const XlaOp rounded = xla::Round(
        xla::Mul(corner, ScalarLike(corner, attributes_.spatial_scale)));
    const XlaOp clamped = xla::Clamp(
        ScalarLike(corner, -static_cast<double>(kMaxRoiCorner)), rounded,
        ScalarLike(corner, static_cast<double>(kMaxRoiCorner)));
    return xla::ConvertElementType(
        xla::Select(xla::Eq(corner, corner), clamped, ZerosLike(clamped)),
        xla::S64);
  }

  static std::vector<XlaOp> Step(const RoiPoolDims& dims,
                                 xla::PrimitiveType computed,
                                 absl::Span<const XlaOp> s) {
    const XlaOp step = s[0], data = s[2], image = s[3], top = s[4], left = s[5],
                width = s[6], area = s[7], maximum = s[8], position = s[9];
    const XlaOp inside = xla::Lt(step, area);
    const XlaOp row =
        xla::Add(top, xla::Div(xla::Add(step, ZerosLike(width)), width));
    const XlaOp column =
        xla::Add(left, xla::Rem(xla::Add(step, ZerosLike(width)), width));
    // The pixel's channels in each bin, [R, PH, PW, C]. Gather keeps its
    // indices inside by itself, for bins that are finished.
    const XlaOp pixel = GatherPixels(
        data,
        PixelIndex(image, row, column,
                   {dims.rois, dims.pooled_height, dims.pooled_width}),
        /*rank=*/4, dims.channels);
    // ReplacesMaximum; -1 stands for no maximum yet.
    const auto over_channels = [&](XlaOp bins) {
      return xla::BroadcastInDim(
          bins,
          {dims.rois, dims.pooled_height, dims.pooled_width, dims.channels},
          {0, 1, 2});
    };
    const XlaOp value = xla::ConvertElementType(pixel, computed);
    const XlaOp largest = xla::ConvertElementType(maximum, computed);
    const XlaOp larger =
        xla::And(xla::Not(xla::Le(value, largest)), xla::Eq(largest, largest));
    const XlaOp replaces =
        xla::And(over_channels(inside),
                 xla::Or(larger, xla::Lt(position, ZerosLike(position))));
    const XlaOp here = over_channels(
        xla::Add(xla::Mul(row, ScalarLike(row, dims.width)), column));
    return {xla::Add(step, ScalarLike(step, 1)),
            s[1],
            data,
            image,
            top,
            left,
            width,
            area,
            xla::Select(replaces, pixel, maximum),
            xla::Select(replaces, here, position)};
  }

  RegionAttributes attributes_;
};
REGISTER_XLA_OP(Name("TfExt>RoiPool"), RoiPoolXlaOp);

// ----- The gradients: a scatter-add and a gather over the same indices. -----

// (image, element) of every entry of argmax, int32 [bins * C, 2], where an
// entry that points at nothing has the image `images`.
XlaOp PooledIndices(XlaOp rois, XlaOp argmax, const RoiPoolDims& dims,
                    xla::PrimitiveType computed) {
  XlaBuilder* builder = rois.builder();
  const std::vector<int64_t> sizes = {dims.rois, dims.pooled_height,
                                      dims.pooled_width, dims.channels};
  const XlaOp channel =
      xla::Iota(builder, xla::ShapeUtil::MakeShape(xla::S32, sizes), /*dim=*/3);
  const XlaOp image =
      xla::BroadcastInDim(RoiImages(rois, dims, computed), sizes, {0});
  // IsElementOfChannel.
  const XlaOp valid = xla::And(
      xla::And(xla::Ge(argmax, ZerosLike(argmax)),
               xla::Lt(argmax, ScalarLike(argmax, dims.image_size()))),
      xla::Eq(xla::Rem(argmax, ScalarLike(argmax, dims.channels)), channel));
  const std::vector<int64_t> flat = {dims.pooled_size(), 1};
  return xla::ConcatInDim(
      builder,
      {xla::Reshape(xla::Select(valid, image, FullLike(image, dims.images)),
                    flat),
       xla::Reshape(argmax, flat)},
      /*dimension=*/1);
}

class RoiPoolGradXlaOp : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    TensorShape gradients, rois, argmax, shape;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &gradients));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &rois));
    OP_REQUIRES_OK(context, XlaInputShape(context, 2, &argmax));
    OP_REQUIRES_OK(context, context->ConstantInputAsShape(3, &shape));
    RoiPoolDims dims{};
    OP_REQUIRES_OK(context,
                   ReadImageDims(type_string(), "data_shape", shape, &dims));
    OP_REQUIRES_OK(context, ReadRoiDims(type_string(), rois, &dims));
    OP_REQUIRES_OK(context, ReadArgmaxDims(type_string(), argmax, &dims));
    OP_REQUIRES_OK(context,
                   CheckPooledGradients(type_string(), gradients, argmax));
    const xla::PrimitiveType type = context->input_xla_type(0);
    const xla::PrimitiveType computed = ComputedType(type);
    XlaBuilder* builder = context->builder();
    const XlaOp zeros = xla::Broadcast(xla::Zero(builder, computed),
                                       {dims.images, dims.image_size()});
    XlaOp sums = zeros;
    if (dims.pooled_size() != 0 && shape.num_elements() != 0) {
      xla::ScatterDimensionNumbers numbers;
      numbers.set_index_vector_dim(1);
      for (int64_t d = 0; d < 2; ++d) {
        numbers.add_inserted_window_dims(d);
        numbers.add_scatter_dims_to_operand_dims(d);
      }
      // What points outside of `zeros` is left out, as XLA defines it.
      sums = xla::Scatter(
          zeros,
          PooledIndices(context->Input(1), context->Input(2), dims, computed),
          xla::ConvertElementType(
              xla::Reshape(context->Input(0), {dims.pooled_size()}), computed),
          xla::CreateScalarAddComputation(computed, builder), numbers);
    }
    context->SetOutput(0, xla::Reshape(xla::ConvertElementType(sums, type),
                                       shape.dim_sizes()));
  }
};
REGISTER_XLA_OP(
    Name("TfExt>RoiPoolGrad").CompileTimeConstantInput("data_shape"),
    RoiPoolGradXlaOp);

class RoiPoolGradGradXlaOp : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    TensorShape gradients, rois, argmax;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &gradients));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &rois));
    OP_REQUIRES_OK(context, XlaInputShape(context, 2, &argmax));
    RoiPoolDims dims{};
    OP_REQUIRES_OK(context,
                   ReadImageDims(type_string(), "gradients", gradients, &dims));
    OP_REQUIRES_OK(context, ReadRoiDims(type_string(), rois, &dims));
    OP_REQUIRES_OK(context, ReadArgmaxDims(type_string(), argmax, &dims));
    const xla::PrimitiveType type = context->input_xla_type(0);
    XlaOp gathered = xla::Broadcast(xla::Zero(context->builder(), type),
                                    {dims.pooled_size()});
    if (dims.pooled_size() != 0 && dims.images * dims.image_size() != 0) {
      const XlaOp indices = PooledIndices(context->Input(1), context->Input(2),
                                          dims, ComputedType(type));
      xla::GatherDimensionNumbers numbers;
      numbers.set_index_vector_dim(1);
      for (int64_t d = 0; d < 2; ++d) {
        numbers.add_collapsed_slice_dims(d);
        numbers.add_start_index_map(d);
      }
      const XlaOp image = xla::Reshape(xla::SliceInDim(indices, 0, 1, 1, 1),
                                       {dims.pooled_size()});
      // Gather clamps an index: what it finds for no image does not count.
      gathered = xla::Select(
          xla::Lt(image, FullLike(image, dims.images)),
          xla::Gather(
              xla::Reshape(context->Input(0), {dims.images, dims.image_size()}),
              indices, numbers, {1, 1}),
          gathered);
    }
    context->SetOutput(0, xla::Reshape(gathered, argmax.dim_sizes()));
  }
};
REGISTER_XLA_OP(Name("TfExt>RoiPoolGradGrad"), RoiPoolGradGradXlaOp);

}  // namespace
}  // namespace tensorflow_ext
