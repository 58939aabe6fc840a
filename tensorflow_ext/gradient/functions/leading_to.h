// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LEADING_TO_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LEADING_TO_H_

#include <unordered_set>
#include <vector>

#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

using NodeSet = std::unordered_set<const tensorflow::Node*>;

// All nodes with a path to one of `ends`, which count too.
NodeSet LeadingTo(const std::vector<const tensorflow::Node*>& ends,
                  bool follow_controls);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LEADING_TO_H_
