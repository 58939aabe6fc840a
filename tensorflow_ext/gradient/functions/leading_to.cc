// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/functions/leading_to.h"

#include <deque>

namespace tensorflow_ext {

using tensorflow::Edge;
using tensorflow::Node;

NodeSet LeadingTo(const std::vector<const Node*>& ends, bool follow_controls) {
  NodeSet found(ends.begin(), ends.end());
  std::deque<const Node*> open(ends.begin(), ends.end());
  while (!open.empty()) {
    const Node* node = open.front();
    open.pop_front();
    for (const Edge* edge : node->in_edges()) {
      if (edge->IsControlEdge() && !follow_controls) continue;
      if (found.insert(edge->src()).second) open.push_back(edge->src());
    }
  }
  return found;
}

}  // namespace tensorflow_ext
