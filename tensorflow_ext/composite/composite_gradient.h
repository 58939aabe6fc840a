#pragma once

#include "tensorflow_ext/composite/composite.h"

namespace tensorflow_ext {

// Writes the gradient of a composite by differentiating its body part by part. The result names the
// parts; their own gradients give the next order.
absl::Status DefineCompositeGradient(const CompositeOp& op, const tensorflow::AttrSlice& attrs,
                                     tensorflow::FunctionDef* gradient);

}  // namespace tensorflow_ext
