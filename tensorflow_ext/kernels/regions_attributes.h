// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_KERNELS_REGIONS_ATTRIBUTES_H_
#define TENSORFLOW_EXT_KERNELS_REGIONS_ATTRIBUTES_H_

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tensorflow_ext {

// The attributes of an op over regions, read and checked alike by its shape
// function and its kernels.
struct RegionAttributes {
  // Products of a number of bins and a number below 2^31 then fit 64 bits.
  static constexpr int64_t kMaxBins = (int64_t{1} << 30) - 1;

  int64_t pooled_height = 1;
  int64_t pooled_width = 1;
  float spatial_scale = 1;

  // `Context` is an InferenceContext or an OpKernelConstruction, `op` the op's
  // name.
  template <typename Context>
  absl::Status Read(Context* context, absl::string_view op) {
    absl::Status status;
    status.Update(ReadBins(context, op, "pooled_height", &pooled_height));
    status.Update(ReadBins(context, op, "pooled_width", &pooled_width));
    status.Update(context->GetAttr("spatial_scale", &spatial_scale));
    if (status.ok() && !(std::isfinite(spatial_scale) && spatial_scale > 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          op, ": attribute 'spatial_scale' is ", spatial_scale,
          ", expected a finite number > 0, the pixels of data per unit of the "
          "corners in rois"));
    }
    return status;
  }

 private:
  template <typename Context>
  static absl::Status ReadBins(Context* context, absl::string_view op,
                               const char* name, int64_t* bins) {
    const absl::Status status = context->GetAttr(name, bins);
    if (!status.ok() || (*bins >= 1 && *bins <= kMaxBins)) return status;
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": attribute '", name, "' is ", *bins,
                     ", expected a number of bins from 1 to ", kMaxBins));
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_REGIONS_ATTRIBUTES_H_
