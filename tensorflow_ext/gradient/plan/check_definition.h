#pragma once

#include "absl/status/status.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensorflow_ext {

// Checks the gradient of an op for all types that the op admits; FindPlan checks only those of one
// node.
//
// `node` names the op and gives the attributes with a fixed value. The others vary. A type takes
// each value that the OpDef allows, or one of each kind if it allows all. A list of types takes two
// of each of these. The length of a list without a default takes the two smallest that the OpDef
// allows. Any other attribute takes its default or, without one, the least allowed value. From
// 2,000 combinations on, only one attribute at a time leaves its first value.
//
// A definition may refuse some types by kUnimplemented, but not all.
//
// Errors: those of FindForward; kInvalidArgument, a required attribute has no default; kNotFound,
// there is no definition; kUnimplemented, it refuses all; otherwise the error of the first wrong
// combination, with its types and how many others there are.
absl::Status CheckDefinition(const tensorflow::NodeDef& node);

}  // namespace tensorflow_ext
