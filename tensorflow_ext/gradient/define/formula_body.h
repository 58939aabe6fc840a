// A definition that a formula writes node by node: the TfExt_Body of formula_api.h.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/gradient/formula_api.h"
#include "tensorflow_ext/gradient/registry/function_registry.h"

namespace tensorflow_ext {

// An argument of a node: tensors of the body, one or a list.
struct BodyArgument {
  std::vector<int> tensors;
  bool is_list;
};

using BodyAttributes = std::vector<std::pair<std::string, tensorflow::AttrValue>>;

// Tensors have the numbers of formula_api.h. After the first failure every call fails.
class FormulaBody {
 public:
  // Starts the gradient of an op of type `op` with these attributes.
  absl::Status Begin(const tensorflow::AttrSlice& attrs, const std::string& op);
  // The finished definition.
  absl::StatusOr<tensorflow::FunctionDef> Finish() const;

  // The op with all its attributes filled in.
  const tensorflow::NodeDef& forward() const { return forward_; }
  int num_inputs() const { return input_types_.size(); }
  int num_outputs() const { return output_types_.size(); }
  tensorflow::DataType TypeOf(int tensor) const;
  int Input(int i);
  int Upstream(int i);
  int Output(int i);
  // The first tensor of argument `name`, and their count.
  int Inputs(const std::string& name, int* count);

  void SetLine(const char* file, int line);
  // Returns the first of the node's `num_outputs` outputs.
  int AddNode(const std::string& op, const std::vector<BodyArgument>& arguments,
              const BodyAttributes& attributes, int* num_outputs);
  int AddConstant(const std::vector<double>& numbers, bool is_vector, tensorflow::DataType type);
  int AddAfter(int tensor, int first);
  void Return(const std::vector<int>& gradients);

  // Keeps the first error, with its line. Returns TFEXT_NO_TENSOR.
  int Fail(const absl::Status& error);
  int Fail(absl::string_view message);
  bool ok() const { return status_.ok(); }

  // Storage for values that the body lends: they live as long as the body.
  template <typename T>
  const T* Keep(T value) {
    auto kept = std::make_shared<T>(std::move(value));
    kept_.push_back(kept);
    return kept.get();
  }

 private:
  struct Tensor {
    // The name of the node that makes it, or of the argument.
    std::string node;
    // The name in a tensorflow::FunctionDef: "node:output:index".
    std::string endpoint;
    tensorflow::DataType type;
  };

  void AddArguments(const tensorflow::protobuf::RepeatedPtrField<tensorflow::OpDef::ArgDef>& args,
                    const std::string& prefix);
  bool IsTensor(int tensor) const;
  std::string UniqueName(const std::string& op);
  // "node 'Mul_1' of op Mul: message"
  int FailInNode(const std::string& name, const std::string& op, absl::string_view message);

  tensorflow::NodeDef forward_;
  const tensorflow::OpDef* op_def_ = nullptr;
  tensorflow::DataTypeVector input_types_, output_types_;
  std::vector<Tensor> tensors_;  // inputs, upstream gradients, nodes' outputs
  std::vector<std::string> arguments_;
  std::vector<tensorflow::FunctionDefHelper::Node> nodes_;
  absl::flat_hash_map<std::string, int> names_;
  std::map<std::tuple<std::vector<double>, bool, tensorflow::DataType>, int> constants_;
  int first_output_ = TFEXT_NO_TENSOR;  // of the forward op, once used
  std::vector<int> results_;
  bool has_returned_ = false;
  const char* file_ = nullptr;
  int line_ = 0;
  absl::Status status_;
  std::vector<std::shared_ptr<const void>> kept_;
};

// A creator that lets `writer` write the gradient of `op`.
GradientCreator CreatorOfFormula(const std::string& op, TfExt_FormulaWriter writer, void* data);

}  // namespace tensorflow_ext

struct TfExt_Body : tensorflow_ext::FormulaBody {};
