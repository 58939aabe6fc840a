// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_COMPOSITE_COMPOSITE_GRADIENT_H_
#define TENSORFLOW_EXT_COMPOSITE_COMPOSITE_GRADIENT_H_

#include "tensorflow_ext/composite/composite.h"

namespace tensorflow_ext {

// Writes the gradient of a composite: its body is differentiated part by part,
// with the gradients that these have. What comes of it names the parts, whose
// gradients are those of the next order.
absl::Status DefineCompositeGradient(const CompositeOp& op,
                                     const tensorflow::AttrSlice& attrs,
                                     tensorflow::FunctionDef* gradient);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_COMPOSITE_COMPOSITE_GRADIENT_H_
