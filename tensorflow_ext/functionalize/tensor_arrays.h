#pragma once

#include "absl/status/status.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tensorflow_ext {

// Replaces the TensorArrays of a graph by lists (TensorListReserve and so on).
//
// A TensorArray is a resource. Its ops take the handle, and a number, the flow, that orders them: a
// write returns the flow of what comes after it. A function cannot take such a handle, and a
// gradient needs values. A list is a value, and it travels where the flow did. So each write
// becomes an op that returns the list with the new element, and the Enter, Merge, Switch,
// NextIteration, Exit and Identity nodes of the flow get the type variant. Nodes keep their names;
// those that only pass handles on are removed.
//
// The results are the same, except that a list permits what is an error of a TensorArray: to read
// an element twice though the first read cleared it, or to write one twice.
//
// Errors: kUnimplemented, an op of a TensorArray has no counterpart (gradients that Python added),
// a handle or a flow goes to a node that cannot take a list, or the flow of a write is used only to
// order other nodes. They name the node.
absl::Status TensorArraysToLists(tensorflow::GraphDef* graph);

}  // namespace tensorflow_ext
