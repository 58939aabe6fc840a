// SPDX-License-Identifier: Apache-2.0
//
// What the attributes of a node say.

#ifndef TENSORFLOW_EXT_GRADIENT_DEFINE_NODE_ATTRIBUTES_H_
#define TENSORFLOW_EXT_GRADIENT_DEFINE_NODE_ATTRIBUTES_H_

#include <string>

#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace tensorflow_ext {

// Whether an attribute of this name annotates the node and does not decide what
// it computes.
bool IsAnnotation(const std::string& attribute);

// A node of op `op` with these attributes.
tensorflow::NodeDef MakeNodeDef(const std::string& op,
                                const tensorflow::AttrSlice& attrs);

// The op of `node` and its attributes that are no annotations; nothing else.
tensorflow::NodeDef OpAndAttributes(const tensorflow::NodeDef& node);

// Whether both have the same attributes, annotations aside.
bool SameAttributes(const tensorflow::NodeDef& a, const tensorflow::NodeDef& b);

// Whether an argument of an op takes a list of tensors, if only of one.
bool IsList(const tensorflow::OpDef::ArgDef& argument);

// How many tensors it takes in this node.
int SizeOf(const tensorflow::OpDef::ArgDef& argument,
           const tensorflow::NodeDef& node);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_DEFINE_NODE_ATTRIBUTES_H_
