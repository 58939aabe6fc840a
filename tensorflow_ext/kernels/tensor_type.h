// Conversions between TensorFlow's types and the kernels' types (numeric.h).

#pragma once

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

// `type` must be one of those below; an OpDef admits no other.
inline NumericType NumericTypeOf(tensorflow::DataType type) {
  switch (type) {
    case tensorflow::DT_HALF:
      return NumericType::kHalf;
    case tensorflow::DT_BFLOAT16:
      return NumericType::kBfloat16;
    case tensorflow::DT_DOUBLE:
      return NumericType::kDouble;
    case tensorflow::DT_INT32:
      return NumericType::kInt32;
    case tensorflow::DT_INT64:
      return NumericType::kInt64;
    default:
      return NumericType::kFloat;
  }
}

// True if kernels compute this type in float; sums then need extra memory.
inline bool IsHalfType(NumericType type) {
  return type == NumericType::kHalf || type == NumericType::kBfloat16;
}

// The buffer of a dense tensor, null if it is empty.
inline const void* Data(const tensorflow::Tensor& tensor) { return tensor.tensor_data().data(); }
inline void* Data(tensorflow::Tensor* tensor) {
  return const_cast<char*>(tensor->tensor_data().data());
}

// The value of a floating-point scalar in host memory; exact.
inline double HostScalar(const tensorflow::Tensor& scalar) {
  return DispatchFloating(NumericTypeOf(scalar.dtype()), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return static_cast<double>(ToCompute(*static_cast<const T*>(Data(scalar))));
  });
}

}  // namespace tensorflow_ext
