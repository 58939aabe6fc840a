// Parts that tables of FunctionDefHelper::Define share.

#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/function.h"

namespace tensorflow_ext {

// The attributes of a node that takes these over from the op whose gradient is defined: {"T",
// "epsilon"} gives {{"T", "$T"}, {"epsilon", "$epsilon"}}. For nodes with many of them.
inline decltype(tensorflow::FunctionDefHelper::Node::attr) AttrsOfOp(
    const std::vector<std::string>& names) {
  decltype(tensorflow::FunctionDefHelper::Node::attr) attributes;
  for (const std::string& name : names) {
    // A std::string would be a value: placeholders are string_views.
    const std::string placeholder = "$" + name;
    attributes.emplace_back(name, absl::string_view(placeholder));
  }
  return attributes;
}

}  // namespace tensorflow_ext
