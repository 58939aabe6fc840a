// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LEADING_TO_H_
#define TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LEADING_TO_H_

#include <deque>
#include <unordered_set>
#include <vector>

#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

using NodeSet = std::unordered_set<const tensorflow::Node*>;

// All nodes with a path to one of `ends`, which count too.
inline NodeSet LeadingTo(const std::vector<const tensorflow::Node*>& ends,
                         bool follow_controls) {
  NodeSet found(ends.begin(), ends.end());
  std::deque<const tensorflow::Node*> open(ends.begin(), ends.end());
  while (!open.empty()) {
    const tensorflow::Node* node = open.front();
    open.pop_front();
    for (const tensorflow::Edge* edge : node->in_edges()) {
      if (edge->IsControlEdge() && !follow_controls) continue;
      if (found.insert(edge->src()).second) open.push_back(edge->src());
    }
  }
  return found;
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FUNCTIONS_LEADING_TO_H_
