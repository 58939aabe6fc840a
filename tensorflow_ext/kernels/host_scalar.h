// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_KERNELS_HOST_SCALAR_H_
#define TENSORFLOW_EXT_KERNELS_HOST_SCALAR_H_

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow_ext/kernels/tensor_type.h"

namespace tensorflow_ext {

// The value of a scalar of a floating-point type, in host memory; exact.
inline double HostScalar(const tensorflow::Tensor& scalar) {
  return DispatchFloating(NumericTypeOf(scalar.dtype()), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return static_cast<double>(ToCompute(*static_cast<const T*>(Data(scalar))));
  });
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_HOST_SCALAR_H_
