// Tensors as real numbers in double: a complex element becomes two numbers.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

using Numbers = std::vector<double>;

// True if tensors of this type have gradients and can be read as numbers here.
bool HasGradient(tensorflow::DataType dtype);

// Double or complex double for narrower types; others do not change.
tensorflow::DataType Widened(tensorflow::DataType dtype);

// The distance from 1 to the next number.
double Spacing(tensorflow::DataType dtype);

Numbers ToNumbers(const tensorflow::Tensor& tensor);

// The numbers in the type and shape of `like`, rounded.
tensorflow::Tensor ToTensor(const Numbers& numbers, const tensorflow::Tensor& like);

// The same numbers in double or complex double. Types without gradients do not change.
tensorflow::Tensor Widen(const tensorflow::Tensor& tensor);

// The index of a number in a tensor, as "[1, 2] (real)".
std::string IndexOf(int64_t position, const tensorflow::Tensor& tensor);

}  // namespace tensorflow_ext
