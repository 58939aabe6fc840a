// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_PLAN_CHECK_DEFINITION_H_
#define TENSORFLOW_EXT_GRADIENT_PLAN_CHECK_DEFINITION_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensorflow_ext {

// Checks the gradient of an op for all types that the op admits, where FindPlan
// meets those of one node.
//
// `node` names the op and gives the attributes that are to have a certain
// value. The others take: a type, each that the OpDef allows, or one of each
// kind where it allows all; a list of types, two of each of these; the length
// of a list without a default, the two smallest that the OpDef allows; any
// other, its default or, if it has none, the least value that it allows. From
// 2,000 combinations on, only one attribute at a time leaves its first value.
//
// A definition may refuse some types by kUnimplemented, not all.
//
// Errors: those of FindForward; kInvalidArgument, an attribute without a
// default has to be given; kNotFound, there is no definition; kUnimplemented,
// it refuses all; else that of the first combination which it is wrong for,
// with the types and how many others there are.
absl::Status CheckDefinition(const tensorflow::NodeDef& node);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_PLAN_CHECK_DEFINITION_H_
