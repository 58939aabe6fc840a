// A function that updates variables, written as formulas:
//
//   body.AssignAdd(m, (gradient - body.Read(m)) * (1 - beta_1));
//
// Ops on one variable run in the order in which they are written.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"

namespace tensorflow_ext::train {

class Body;

// An attribute that is a type.
tensorflow::AttrValue TypeAttribute(tensorflow::DataType type);

// A tensor of a body. Scalars of any type combine with it.
struct Expr {
  Body* body = nullptr;
  tensorflow::Output output;

  bool exists() const { return body != nullptr; }
  // DT_INVALID after an error.
  tensorflow::DataType type() const;
};

// A variable, or the rows `indices` of one, which are unequal.
struct Place {
  Expr handle;
  tensorflow::DataType type;
  Expr indices;
};

class Body {
 public:
  using Attributes = std::vector<std::pair<std::string, tensorflow::AttrValue>>;

  // Functions go into the library of `graph`, which must outlive this object.
  explicit Body(tensorflow::Graph* graph) : graph_(graph) {}
  Body(const Body&) = delete;

  Expr Argument(tensorflow::DataType type);

  // Adds an op and returns its first output. Its types must follow from the inputs or `attributes`.
  // An input may belong to a body around this one.
  Expr Add(const char* op, const std::vector<Expr>& inputs, const Attributes& attributes = {});
  Expr Constant(double value, tensorflow::DataType type);
  Expr Constant(const tensorflow::Tensor& value);

  Expr Read(const Place& place);
  void Assign(const Place& place, const Expr& value);
  void AssignAdd(const Place& place, const Expr& value);
  void AssignSub(const Place& place, const Expr& value);

  // Runs one of the two.
  using Writer = std::function<void(Body*)>;
  void If(const Expr& condition, const Writer& then, const Writer& otherwise);

  // Keeps the first error, for Finish.
  void Check(const absl::Status& status) { status_.Update(status); }

  // True if this is `other` or a branch in it.
  bool IsIn(const Body* other) const;

  // Makes the function.
  absl::StatusOr<tensorflow::NameAttrList> Finish(const std::string& name);

 private:
  // The tensor itself, or the argument that stands for it.
  tensorflow::Output Own(const Expr& expr);
  // Adds the node, after what it must wait for.
  Expr Add(tensorflow::NodeBuilder builder, const std::vector<tensorflow::Output>& inputs,
           bool only_reads);
  void Write(const char* whole, const char* rows, const Place& place, const Expr& value);

  tensorflow::Graph* const graph_;
  FunctionBuilder builder_;
  absl::Status status_;
  // The body around a branch, and the tensors there that its arguments stand for.
  Body* around_ = nullptr;
  std::vector<Expr> captured_;
  Outputs arguments_;
  // By the argument that is the handle: what the next op on the variable waits for.
  struct Uses {
    std::vector<tensorflow::Node*> writes, reads;
  };
  std::map<const tensorflow::Node*, Uses> uses_;
};

Expr operator+(const Expr& x, const Expr& y);
Expr operator-(const Expr& x, const Expr& y);
Expr operator*(const Expr& x, const Expr& y);
Expr operator/(const Expr& x, const Expr& y);
Expr operator+(const Expr& x, double y);
Expr operator-(const Expr& x, double y);
Expr operator-(double x, const Expr& y);
Expr operator*(const Expr& x, double y);
Expr operator/(const Expr& x, double y);
Expr operator/(double x, const Expr& y);
Expr Square(const Expr& x);
Expr Sqrt(const Expr& x);
Expr Pow(const Expr& x, double y);
Expr Pow(double x, const Expr& y);
Expr Maximum(const Expr& x, const Expr& y);
Expr Minimum(const Expr& x, const Expr& y);
Expr Cast(const Expr& x, tensorflow::DataType type);
// The sum of all elements, and whether all are true.
Expr Sum(const Expr& x);
Expr All(const Expr& x);

}  // namespace tensorflow_ext::train
