// SPDX-License-Identifier: Apache-2.0
//
// Tensors as real numbers in double: a complex element is two of them.

#ifndef TENSORFLOW_EXT_TESTING_REAL_NUMBERS_H_
#define TENSORFLOW_EXT_TESTING_REAL_NUMBERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

using Numbers = std::vector<double>;

// Whether tensors of this type have gradients, and can be read as numbers here.
bool HasGradient(tensorflow::DataType dtype);

// Double or complex double for what is narrower; others stay.
tensorflow::DataType Widened(tensorflow::DataType dtype);

// The distance of 1 from the next number.
double Spacing(tensorflow::DataType dtype);

Numbers ToNumbers(const tensorflow::Tensor& tensor);

// In the type and shape of `like`, rounded.
tensorflow::Tensor ToTensor(const Numbers& numbers,
                            const tensorflow::Tensor& like);

// The same numbers in double, or complex double. Types without gradient stay.
tensorflow::Tensor Widen(const tensorflow::Tensor& tensor);

// The index of a number in a tensor, as "[1, 2] (real)".
std::string IndexOf(int64_t position, const tensorflow::Tensor& tensor);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_TESTING_REAL_NUMBERS_H_
