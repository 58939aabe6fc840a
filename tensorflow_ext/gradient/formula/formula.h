// SPDX-License-Identifier: Apache-2.0
//
// A short-hand over FunctionDefHelper: a gradient is written as the formula is.
//
//   // d/dx erfc(x) = -2/sqrt(pi) exp(-x^2)    (DLMF 7.2.2)
//   void ErfcGrad(Gradient& g) {
//     Value x = g.Input(0), dy = g.Upstream(0);
//     g.Return({dy * (-2 / kSqrtPi) * Exp(-Square(x))});
//   }
//   REGISTER_GRADIENT("Erfc", ErfcGrad);
//
// The function runs once for each set of attributes; the op's attributes and
// with them the types of all values are known while it runs, so `g.Attr<bool>`
// and `x.type()` may steer it. Each call adds a node to the body; attributes
// that follow from the types of its inputs (T, N, ...) are inferred, constants
// take the type of the value they meet. A mistake (an unknown op, types that do
// not fit) does not throw: the first one becomes the error of the definition.
//
// What comes of it is an ordinary function gradient in TensorFlow's registry.

#ifndef TENSORFLOW_EXT_GRADIENT_FORMULA_FORMULA_H_
#define TENSORFLOW_EXT_GRADIENT_FORMULA_FORMULA_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorflow_ext/gradient/formula/data_type.h"

namespace tensorflow_ext {

class Gradient;

// One tensor of the body. Cheap to copy; lives as long as its Gradient.
class Value {
 public:
  // No value: as a result of Gradient::Return, "this input has no gradient".
  Value() = default;

  bool exists() const { return gradient_ != nullptr; }
  DataType type() const;
  Gradient* gradient() const { return gradient_; }

 private:
  friend class Gradient;
  Value(Gradient* gradient, int id) : gradient_(gradient), id_(id) {}
  Gradient* gradient_ = nullptr;
  int id_ = -1;
};

using Values = std::vector<Value>;

// A value or a number; the number takes the type of the values it meets.
class Operand {
 public:
  Operand(Value value) : value_(value) {}      // NOLINT: implicit by design
  Operand(double number) : number_(number) {}  // NOLINT: implicit by design

  // The operand as a value of `type`.
  Value In(Gradient* gradient, DataType type) const;
  bool is_number() const { return !value_.exists(); }
  Value value() const { return value_; }

 private:
  Value value_;
  double number_ = 0;
};

// An argument of an op: one tensor or a list of them. What is long in this
// class and in Attribute is compiled once, in formula_body.cc, and not by each
// file of gradients.
class Argument {
 public:
  Argument(Value value);    // NOLINT: implicit by design
  Argument(Values values);  // NOLINT: implicit by design
  Argument(const Argument& other);
  Argument& operator=(const Argument& other);
  ~Argument();

  const Values& values() const { return values_; }
  bool is_list() const { return is_list_; }

 private:
  Values values_;
  bool is_list_ = false;
};

// An attribute of a node: its name and its value, or the name of the attribute
// of the op whose gradient is written (`OfOp`) that it takes over.
struct OfOp {
  std::string name;
};
// As the value of an attribute: a shape of unknown rank.
struct AnyShape {};
// As the value of an attribute: the gradient of the function, or of each of the
// functions, that attribute `function` of the op names. It takes the function's
// arguments and an upstream gradient for each result, of types `inputs`, and
// returns `results`, the gradients of all arguments. A name that only the
// function runtime knows: for REGISTER_FUNCTION_RUNTIME_GRADIENT.
struct GradientOf {
  std::string function;
  std::vector<DataType> inputs, results;
};
using AttrVariant =
    std::variant<bool, int64_t, float, std::string, DataType,
                 std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, std::vector<DataType>, OfOp,
                 AnyShape, std::vector<AnyShape>, GradientOf>;
struct Attribute {
  // T is one of AttrVariant's types, or int, double (a float) or const char*.
  template <typename T>
  Attribute(const char* attr_name, T v);
  Attribute(const Attribute& other);
  Attribute& operator=(const Attribute& other);
  ~Attribute();

  std::string name;
  AttrVariant value;
};
using Attributes = std::vector<Attribute>;

// The definition being written: the op it belongs to and its body so far.
class Gradient {
 public:
  // ---- The op.
  const std::string& op() const;
  // Input `i` of the op, the inputs of list argument `name`, and their number;
  // all flattened: a list argument of 3 tensors counts as 3 inputs.
  Value Input(int i);
  Values Inputs(const std::string& name);
  int num_inputs() const;
  int num_outputs() const;
  // The upstream gradient of output `i`.
  Value Upstream(int i = 0);
  Values Upstreams();
  // Output `i` of the op. In the function runtime this runs the op once more;
  // everywhere else the existing output is used.
  Value Output(int i = 0);
  // An attribute of the op, of C++ type bool, int64_t, float, std::string,
  // DataType or a std::vector of those (not bool). An attribute that the op
  // does not have is a mistake of the definition and gives T().
  template <typename T>
  T Attr(const std::string& name);
  // These attributes of the op, to pass them on under their names:
  // `g.Call(..., g.AttrsOfOp({"strides", "padding"}))`.
  Attributes AttrsOfOp(const std::vector<std::string>& names) const;

  // ---- The body.
  // The outputs of a new node of op `op`; Call gives its first output.
  Values CallAll(const std::string& op, const std::vector<Argument>& inputs,
                 const Attributes& attributes = {});
  Value Call(const std::string& op, const std::vector<Argument>& inputs,
             const Attributes& attributes = {});
  // `x`, not before `first` is there. Identity with a control input.
  Value After(Value x, Value first);
  // A scalar, or a vector, of any numeric type or bool.
  Value Scalar(double number, DataType type);
  Value Vector(const std::vector<double>& numbers, DataType type);
  // The same in int32, the type of shapes, axes and permutations.
  Value Int(int64_t number);
  Value Ints(const std::vector<int64_t>& numbers);

  // ---- The end.
  // The gradient of each input (flattened), in order; Value() where an input
  // has none. Called once, last.
  void Return(const Values& gradients);
  // The same where only the first input has one.
  void ReturnFirst(Value gradient);
  // Ends the definition with an error that says what is not supported, which
  // every client then gives: "In the gradient of OP: WHAT".
  void Unimplemented(const std::string& what);

  struct State;
  explicit Gradient(State* state) : state_(state) {}
  State* state() { return state_; }
  const State* state() const { return state_; }

 private:
  friend class Value;
  State* const state_;
};

using Formula = void (*)(Gradient& g);

// Registers `formula` as the gradient of `op`, as RegisterGradient of
// client_registry.h does.
bool RegisterFormula(const char* op, Formula formula);

// The same for an op with a client gradient of TensorFlow's own, for which this
// one then stands in (StandIn of client_registry.h).
bool RegisterStandIn(const char* op, Formula formula);

// The same for the function registry alone (AddToFunctionRuntime of
// function_registry.h).
bool RegisterFunctionRuntimeFormula(const char* op, Formula formula);

#define REGISTER_GRADIENT(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__, ::tensorflow_ext::RegisterFormula(op, formula))
#define REGISTER_STAND_IN(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__, ::tensorflow_ext::RegisterStandIn(op, formula))
#define REGISTER_FUNCTION_RUNTIME_GRADIENT(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__,                            \
                ::tensorflow_ext::RegisterFunctionRuntimeFormula(op, formula))
#define TFEXT_AT_LOAD(counter, call) TFEXT_AT_LOAD_UNIQUE(counter, call)
#define TFEXT_AT_LOAD_UNIQUE(counter, call) \
  [[maybe_unused]] static const bool registered_##counter = call

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_FORMULA_FORMULA_H_
