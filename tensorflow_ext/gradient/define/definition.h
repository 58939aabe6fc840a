// Finds and checks the body of a gradient, given an op and its attributes.

#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

// An op with its attributes, as a client gives it.
struct Forward {
  const tensorflow::OpDef* op_def = nullptr;
  // The op and all its attributes, including defaults; no name and no inputs.
  tensorflow::NodeDef node;
  // List arguments flattened.
  tensorflow::DataTypeVector input_types, output_types;
};

// Fills in the defaults and validates. Reads only the op and the attributes of `node`. Attributes
// with a default may be missing; those whose name begins with '_' are left out.
//
// Errors: kNotFound, the op is not registered; kInvalidArgument, an attribute is missing or wrong.
absl::StatusOr<Forward> FindForward(const tensorflow::NodeDef& node);

// A gradient that has been found, instantiated and checked.
struct Definition {
  Forward forward;
  // The function as the author wrote it.
  tensorflow::FunctionDef function;
  // The function's body for these attributes: _Arg, _Retval and op nodes, with all attributes
  // filled in. Inputs are names of nodes of the body.
  std::vector<tensorflow::NodeDef> body;
};

// Finds and checks the gradient of `forward`.
//
// The check: the function's arguments are the op's inputs and then one upstream gradient per
// output; its results are one gradient per input, of the same types (a resource input may have a
// gradient of any type). Every node names a registered op and has its inputs and attributes. Cycles
// are found by the planner.
//
// Errors: kNotFound, there is no definition; kFailedPrecondition, it is wrong or its creator
// throws; otherwise the creator's own error.
absl::StatusOr<Definition> FindDefinition(const Forward& forward);

}  // namespace tensorflow_ext
