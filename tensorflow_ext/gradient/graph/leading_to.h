#pragma once

#include <deque>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

using NodeSet = std::unordered_set<const tensorflow::Node*>;

// All nodes with a path to one of `ends`, including `ends`.
inline NodeSet LeadingTo(const std::vector<const tensorflow::Node*>& ends, bool follow_controls) {
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

// The nodes of `leading` (LeadingTo some ends) that a data path connects to one of `starts`,
// including `starts`.
inline NodeSet Between(const std::vector<const tensorflow::Node*>& starts, const NodeSet& leading) {
  NodeSet found;
  std::deque<const tensorflow::Node*> open;
  const auto reach = [&](const tensorflow::Node* node) {
    if (leading.count(node) > 0 && found.insert(node).second) {
      open.push_back(node);
    }
  };
  for (const tensorflow::Node* start : starts) reach(start);
  while (!open.empty()) {
    for (const tensorflow::Edge* edge : open.front()->out_edges()) {
      if (!edge->IsControlEdge()) reach(edge->dst());
    }
    open.pop_front();
  }
  return found;
}

// The xs that lead to a y, without duplicates: AddSymbolicGradients gives a repeated tensor no
// gradient at all.
class ConnectedTensors {
 public:
  // `leading`: LeadingTo the nodes of the ys.
  ConnectedTensors(const std::vector<tensorflow::OutputTensor>& xs, const NodeSet& leading) {
    std::map<std::pair<const tensorflow::Node*, int>, int> places;
    for (const tensorflow::OutputTensor& x : xs) {
      if (leading.count(x.node) == 0) {
        places_.push_back(-1);
        continue;
      }
      const auto [place, is_new] = places.emplace(std::make_pair(x.node, x.index), tensors_.size());
      if (is_new) tensors_.push_back(x);
      places_.push_back(place->second);
    }
  }

  const std::vector<tensorflow::OutputTensor>& tensors() const { return tensors_; }

  // The nodes of tensors().
  std::vector<const tensorflow::Node*> nodes() const {
    std::vector<const tensorflow::Node*> nodes;
    for (const tensorflow::OutputTensor& x : tensors_) nodes.push_back(x.node);
    return nodes;
  }

  // Maps `values`, one for each of tensors(), to the xs; `none` for an x that leads to no y.
  template <typename T>
  std::vector<T> OfEach(const std::vector<T>& values, const T& none) const {
    std::vector<T> result;
    for (const int place : places_) {
      result.push_back(place < 0 ? none : values[place]);
    }
    return result;
  }

 private:
  std::vector<tensorflow::OutputTensor> tensors_;
  std::vector<int> places_;  // of each x in tensors_, or -1
};

}  // namespace tensorflow_ext
