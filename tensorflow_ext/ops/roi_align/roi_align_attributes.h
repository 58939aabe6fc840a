// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_OPS_ROI_ALIGN_ROI_ALIGN_ATTRIBUTES_H_
#define TENSORFLOW_EXT_OPS_ROI_ALIGN_ROI_ALIGN_ATTRIBUTES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow_ext/kernels/regions_attributes.h"
#include "tensorflow_ext/ops/roi_align/roi_align.h"

namespace tensorflow_ext {

// The attributes of RoiAlign and RoiAlignGrad; see RegionAttributes.
struct RoiAlignAttributes : RegionAttributes {
  int64_t sampling_ratio = 0;
  bool aligned = true;

  template <typename Context>
  absl::Status Read(Context* context, absl::string_view op) {
    absl::Status status = RegionAttributes::Read(context, op);
    status.Update(context->GetAttr("sampling_ratio", &sampling_ratio));
    status.Update(context->GetAttr("aligned", &aligned));
    if (status.ok() && sampling_ratio < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          op, ": attribute 'sampling_ratio' is ", sampling_ratio,
          ", expected the number of samples along a side of a bin, or 0 for as "
          "many as it has pixels"));
    }
    return status;
  }

  RoiAlignOptions options() const {
    return {spatial_scale, sampling_ratio, aligned};
  }
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_OPS_ROI_ALIGN_ROI_ALIGN_ATTRIBUTES_H_
