// Conversions between the facade's types (Own) and XLA's (Real), for the facade.

#pragma once

#include <vector>

#include "absl/base/casts.h"
#include "absl/types/span.h"
#include "tensorflow_ext/base/compatibility.h"
#include "tensorflow_ext/xla/xla_op.h"
#include TENSORFLOW_EXT_XLA_BUILDER

namespace tensorflow_ext::xla {

inline ::xla::XlaOp Real(XlaOp op) { return absl::bit_cast<::xla::XlaOp>(op); }
inline XlaOp Own(::xla::XlaOp op) { return absl::bit_cast<XlaOp>(op); }

inline std::vector<::xla::XlaOp> Real(absl::Span<const XlaOp> ops) {
  std::vector<::xla::XlaOp> real;
  for (const XlaOp op : ops) real.push_back(Real(op));
  return real;
}
inline std::vector<XlaOp> Own(absl::Span<const ::xla::XlaOp> ops) {
  std::vector<XlaOp> own;
  for (const ::xla::XlaOp op : ops) own.push_back(Own(op));
  return own;
}

inline ::xla::PrimitiveType Real(PrimitiveType type) {
  return static_cast<::xla::PrimitiveType>(type);
}
inline PrimitiveType Own(::xla::PrimitiveType type) { return static_cast<PrimitiveType>(type); }

}  // namespace tensorflow_ext::xla
