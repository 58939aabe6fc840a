// Reads the attributes of a node.

#pragma once

#include <string>

#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace tensorflow_ext {

// True if an attribute of this name annotates the node without affecting its result.
bool IsAnnotation(const std::string& attribute);

// A node of op `op` with these attributes.
tensorflow::NodeDef MakeNodeDef(const std::string& op, const tensorflow::AttrSlice& attrs);

// The op of `node` and its attributes, without annotations, name or inputs.
tensorflow::NodeDef OpAndAttributes(const tensorflow::NodeDef& node);

// True if both have the same attributes, ignoring annotations.
bool SameAttributes(const tensorflow::NodeDef& a, const tensorflow::NodeDef& b);

// True if an argument of an op takes a list of tensors, even a list of one.
bool IsList(const tensorflow::OpDef::ArgDef& argument);

// The number of tensors that it takes in this node.
int SizeOf(const tensorflow::OpDef::ArgDef& argument, const tensorflow::NodeDef& node);

}  // namespace tensorflow_ext
