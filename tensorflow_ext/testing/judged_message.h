#pragma once

#include <string>
#include <vector>

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow_ext/testing/check_gradient.h"
#include "tensorflow_ext/testing/differences.h"

namespace tensorflow_ext {

// Describes the judged gradient by `like`, which is called `title`. `there`: true if there is a
// gradient; `required`: true if there must be one.
GradientFinding DifferencesFinding(int order, const std::string& title,
                                   const tensorflow::Tensor& like, bool there, bool required,
                                   const std::vector<Judged>& judged);

}  // namespace tensorflow_ext
