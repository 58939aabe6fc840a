// Checks that the ops over regions share: attributes and shapes in shape functions, kernels and XLA
// lowerings, and values on the CPU. Errors are InvalidArgument and name the op, the argument, its
// value and what was expected. `op` is the op's name. Functions that read a shape fill in their
// part of `dims`.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/kernels/images_checks.h"
#include "tensorflow_ext/kernels/regions.h"

namespace tensorflow_ext {

// The attributes that these ops share.
struct RegionAttributes {
  // A number of bins times a number below 2^31 then fits 64 bits.
  static constexpr int64_t kMaxBins = (int64_t{1} << 30) - 1;

  int64_t pooled_height = 1;
  int64_t pooled_width = 1;
  float spatial_scale = 1;

  // `Context` is an InferenceContext or an OpKernelConstruction; `op` is a name.
  template <typename Context>
  absl::Status Read(Context* context, absl::string_view op) {
    absl::Status status;
    status.Update(ReadBins(context, op, "pooled_height", &pooled_height));
    status.Update(ReadBins(context, op, "pooled_width", &pooled_width));
    status.Update(context->GetAttr("spatial_scale", &spatial_scale));
    if (status.ok() && !(std::isfinite(spatial_scale) && spatial_scale > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(op, ": attribute 'spatial_scale' is ", spatial_scale,
                       ", expected a finite number > 0, the pixels of data per unit of the "
                       "corners in rois"));
    }
    return status;
  }

 private:
  template <typename Context>
  static absl::Status ReadBins(Context* context, absl::string_view op, const char* name,
                               int64_t* bins) {
    const absl::Status status = context->GetAttr(name, bins);
    if (!status.ok() || (*bins >= 1 && *bins <= kMaxBins)) return status;
    return absl::InvalidArgumentError(absl::StrCat(op, ": attribute '", name, "' is ", *bins,
                                                   ", expected a number of bins from 1 to ",
                                                   kMaxBins));
  }
};

// rois: [R, 5].
inline constexpr char kRoisExpected[] = "[R, 5], rows of (batch index, x1, y1, x2, y2)";

inline absl::Status ReadRoiDims(const std::string& op, const tensorflow::TensorShape& rois,
                                RegionDims* dims) {
  if (rois.dims() != 2 || rois.dim_size(1) != 5) {
    return ShapeError(op, "rois", rois, kRoisExpected);
  }
  dims->rois = rois.dim_size(0);
  return absl::OkStatus();
}

// The same in a shape function, for input `index`; *num_rois is R.
inline absl::Status InferRois(tensorflow::shape_inference::InferenceContext* c,
                              absl::string_view op, int index,
                              tensorflow::shape_inference::DimensionHandle* num_rois) {
  tensorflow::shape_inference::ShapeHandle rois;
  tensorflow::shape_inference::DimensionHandle five;
  if (!c->WithRank(c->input(index), 2, &rois).ok() ||
      !c->WithValue(c->Dim(rois, 1), 5, &five).ok()) {
    return ShapeError(op, "rois", c->DebugString(c->input(index)), kRoisExpected);
  }
  *num_rois = c->Dim(rois, 0);
  return absl::OkStatus();
}

inline constexpr char kTooManyBins[] =
    "lower pooled_height or pooled_width, or split the regions in rois";

// The shape of pooled, or an error if it has too many elements.
inline absl::Status PooledShape(const std::string& op, const RegionDims& dims,
                                tensorflow::TensorShape* shape) {
  return BuildOutputShape(op, {dims.rois, dims.pooled_height, dims.pooled_width, dims.channels},
                          kTooManyBins, shape);
}

// The same in a shape function, where R and C may be unknown.
inline absl::Status InferPooled(tensorflow::shape_inference::InferenceContext* c,
                                absl::string_view op, const RegionAttributes& attributes,
                                tensorflow::shape_inference::DimensionHandle num_rois,
                                tensorflow::shape_inference::DimensionHandle channels,
                                tensorflow::shape_inference::ShapeHandle* pooled) {
  *pooled = c->MakeShape({num_rois, c->MakeDim(attributes.pooled_height),
                          c->MakeDim(attributes.pooled_width), channels});
  return CheckOutputShape(c, op, *pooled, kTooManyBins);
}

// The image of each region.
inline absl::Status ReadImages(const std::string& op, NumericType type, const RegionDims& dims,
                               const void* rois, std::vector<int64_t>* images) {
  images->resize(dims.rois);
  RoiImagesCpu(type, dims, rois, images->data());
  const auto wrong = std::find(images->begin(), images->end(), -1);
  if (wrong == images->end()) return absl::OkStatus();
  const int64_t row = wrong - images->begin();
  return absl::InvalidArgumentError(absl::StrCat(
      op, ": argument 'rois' has batch index ", RoiBatchIndex(type, rois, row), " in row ", row,
      ", expected one of the ", dims.images, " images, in [0, ", dims.images, ")"));
}

// The regions on each image, in ascending order.
inline std::vector<std::vector<int64_t>> RoisOfImages(const RegionDims& dims,
                                                      const std::vector<int64_t>& images) {
  std::vector<std::vector<int64_t>> rois(dims.images);
  for (int64_t r = 0; r < dims.rois; ++r) rois[images[r]].push_back(r);
  return rois;
}

}  // namespace tensorflow_ext
