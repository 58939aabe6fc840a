// SPDX-License-Identifier: Apache-2.0
//
// What a Gradient knows while its formula runs. formula.cc fills in what it
// reads of the op, formula_body.cc the body that it writes.

#ifndef TENSORFLOW_EXT_GRADIENT_FORMULA_FORMULA_STATE_H_
#define TENSORFLOW_EXT_GRADIENT_FORMULA_FORMULA_STATE_H_

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext {

// A tensor of the body.
struct BodyTensor {
  // The name of the node that makes it, or of the argument.
  std::string node;
  // How tensorflow::FunctionDef names it: "node:output:index".
  std::string endpoint;
  DataType type;
};

struct Gradient::State {
  tensorflow::NodeDef forward;  // op and attributes
  const tensorflow::OpDef* op_def = nullptr;
  tensorflow::DataTypeVector input_types, output_types;
  std::vector<BodyTensor> tensors;  // inputs, upstream gradients, then nodes'
  std::vector<std::string> arguments;
  std::vector<tensorflow::FunctionDefHelper::Node> nodes;
  absl::flat_hash_map<std::string, int> names;
  std::map<std::tuple<std::vector<double>, bool, DataType>, Value> constants;
  Values outputs;  // of the forward op, once asked for
  Values results;
  bool returned = false;
  absl::Status status;

  void Fail(const absl::Status& error) {
    if (status.ok()) status = error;
  }
  // Whether there is an element `i` among `count` of what `what` names; fails
  // if not.
  bool IsIndex(int i, int count, const char* what);
  absl::Status Begin(const tensorflow::AttrSlice& attrs, const std::string& op);
  std::string UniqueName(const std::string& op);
  void AddArguments(const tensorflow::protobuf::RepeatedPtrField<
                        tensorflow::OpDef::ArgDef>& args,
                    const std::string& prefix);
  Value AddConstant(Gradient* gradient, const std::vector<double>& numbers,
                    bool is_vector, DataType type);
  tensorflow::FunctionDef Finish() const;
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FORMULA_FORMULA_STATE_H_
