// A short-hand over FunctionDefHelper: write a gradient as its formula.
//
//   // d/dx erfc(x) = -2/sqrt(pi) exp(-x^2)    (DLMF 7.2.2)
//   void ErfcGrad(Gradient& g) {
//     Value x = g.Input(0), dy = g.Upstream(0);
//     g.Return({dy * (-2 / kSqrtPi) * Exp(-Square(x))});
//   }
//   TFEXT_REGISTER_GRADIENT("Erfc", ErfcGrad);
//
// The function runs once for each set of attributes, in the thread that asks for the gradient. The
// op's attributes, and so the types of all values, are known while it runs; `g.Attr<bool>` and
// `x.type()` may steer it. Each call adds a node to the body. Attributes that follow from the types
// of its inputs (T, N, ...) are inferred. Constants take the type of the values that they meet.
//
// A mistake (an unknown op, types that do not fit, a value that was never assigned) ends the
// formula. It becomes the definition's error, with the op, the node, and the line of the formula. A
// C++ exception does the same.
//
// The result is an ordinary function gradient in TensorFlow's registry.
//
// Public: for any library that links libtensorflow_ext.so. Needs no TensorFlow header, and no C++
// crosses from one library to the other (../formula_api.h does).

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorflow_ext/gradient/formula/data_type.h"
#include "tensorflow_ext/gradient/formula_api.h"

namespace tensorflow_ext {

class Gradient;

// The line of a formula that makes a call. As a default argument, it is the line of the caller.
struct SourceLine {
  static constexpr SourceLine Here(const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
    return {file, line};
  }

  const char* file;
  int line;
};

// One tensor of the body. Cheap to copy; lives as long as its Gradient.
class Value {
 public:
  // No value. In Gradient::Return it means "this input has no gradient"; anywhere else it is a
  // mistake.
  Value() = default;

  bool exists() const { return gradient_ != nullptr; }
  DataType type() const;
  Gradient* gradient() const;

 private:
  friend class Gradient;
  Value(Gradient* gradient, int tensor) : gradient_(gradient), tensor_(tensor) {}
  Gradient* gradient_ = nullptr;
  int tensor_ = TFEXT_NO_TENSOR;
};

using Values = std::vector<Value>;

// A value passed to a function, and the line that passes it.
class Given {
 public:
  Given(Value value,  // NOLINT: implicit by design
        SourceLine line = SourceLine::Here());

  operator Value() const { return value_; }  // NOLINT: implicit by design
  Value value() const { return value_; }
  Gradient* gradient() const { return value_.gradient(); }
  DataType type() const { return value_.type(); }
  bool exists() const { return value_.exists(); }

 private:
  Value value_;
};

// A value or a number; a number takes the type of the values that it meets.
class Operand {
 public:
  Operand(Value value,  // NOLINT: implicit by design
          SourceLine line = SourceLine::Here());
  Operand(Given value)  // NOLINT: implicit by design
      : value_(value) {}
  Operand(double number,  // NOLINT: implicit by design
          SourceLine line = SourceLine::Here());

  // The operand as a value of `type`.
  Value In(Gradient* gradient, DataType type) const;
  bool is_number() const { return is_number_; }
  Value value() const { return value_; }

 private:
  Value value_;
  double number_ = 0;
  bool is_number_ = false;
};

// An argument of an op: one tensor or a list. Long functions of this class and of Attribute are in
// formula.cc, so they compile once and not in each file of gradients.
class Argument {
 public:
  Argument(Value value,  // NOLINT: implicit by design
           SourceLine line = SourceLine::Here());
  Argument(Given value);   // NOLINT: implicit by design
  Argument(Values values,  // NOLINT: implicit by design
           SourceLine line = SourceLine::Here());
  Argument(const Argument& other);
  Argument& operator=(const Argument& other);
  ~Argument();

  const Values& values() const { return values_; }
  bool is_list() const { return is_list_; }

 private:
  Values values_;
  bool is_list_ = false;
};

// A value of an attribute: that of the attribute `name` of the op whose gradient is defined.
struct OfOp {
  std::string name;
};
// A value of an attribute: a shape of unknown rank.
struct AnyShape {};
// A value of an attribute: the gradient of the function, or of each of the functions, in the op's
// attribute `function`. It takes the function's arguments and an upstream gradient for each result,
// of types `inputs`. It returns `results`, the gradients of all arguments. Only the function
// runtime knows this name: for REGISTER_FUNCTION_RUNTIME_GRADIENT.
struct GradientOf {
  std::string function;
  std::vector<DataType> inputs, results;
};
using AttrVariant =
    std::variant<bool, int64_t, float, std::string, DataType, std::vector<int64_t>,
                 std::vector<float>, std::vector<std::string>, std::vector<DataType>, OfOp,
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

// The definition being written: its op and its body so far.
class Gradient {
 public:
  // ---- The op.
  const std::string& op() const;
  // Input `i` of the op, the inputs of list argument `name`, and their number. All are flattened: a
  // list argument of 3 tensors counts as 3 inputs.
  Value Input(int i, SourceLine line = SourceLine::Here());
  Values Inputs(const std::string& name, SourceLine line = SourceLine::Here());
  int num_inputs() const;
  int num_outputs() const;
  // The upstream gradient of output `i`.
  Value Upstream(int i = 0, SourceLine line = SourceLine::Here());
  Values Upstreams();
  // Output `i` of the op. In the function runtime this runs the op once more; elsewhere the
  // existing output is used.
  Value Output(int i = 0, SourceLine line = SourceLine::Here());
  // An attribute of the op, of C++ type bool, int64_t, float, std::string, DataType or a
  // std::vector of those (not bool). An attribute that the op does not have is a mistake of the
  // definition and gives T().
  template <typename T>
  T Attr(const std::string& name, SourceLine line = SourceLine::Here());
  // Some attributes of the op, to pass on under the same names: `g.Call(...,
  // g.AttrsOfOp({"strides", "padding"}))`.
  Attributes AttrsOfOp(const std::vector<std::string>& names) const;

  // ---- The body.
  // The outputs of a new node of op `op`; Call returns its first output.
  Values CallAll(const std::string& op, const std::vector<Argument>& inputs,
                 const Attributes& attributes = {}, SourceLine line = SourceLine::Here());
  Value Call(const std::string& op, const std::vector<Argument>& inputs,
             const Attributes& attributes = {}, SourceLine line = SourceLine::Here());
  // `x`, computed only after `first`. Identity with a control input.
  Value After(Value x, Value first, SourceLine line = SourceLine::Here());
  // A scalar, or a vector, of any numeric type or bool.
  Value Scalar(double number, DataType type, SourceLine line = SourceLine::Here());
  Value Vector(const std::vector<double>& numbers, DataType type,
               SourceLine line = SourceLine::Here());
  // The same in int32, the type of shapes, axes and permutations.
  Value Int(int64_t number);
  Value Ints(const std::vector<int64_t>& numbers);

  // ---- The end.
  // Sets the gradient of each input (flattened), in order; Value() if an input
  // has none. Call it once, last.
  void Return(const Values& gradients, SourceLine line = SourceLine::Here());
  // The same if only the first input has a gradient.
  void ReturnFirst(Value gradient, SourceLine line = SourceLine::Here());
  // Ends the definition with an error that names an unsupported case. Every client reports it: "In
  // the gradient of OP: WHAT".
  [[noreturn]] void Unimplemented(const std::string& what);
  // Ends the definition with an error of the formula: a call with invalid arguments.
  [[noreturn]] void Fail(const std::string& what);

  explicit Gradient(TfExt_Body* body);
  Gradient(const Gradient&) = delete;
  Gradient& operator=(const Gradient&) = delete;

 private:
  friend class Value;
  Value Found(int tensor);
  TfExt_Body* const body_;
  const std::string op_;
};

using Formula = void (*)(Gradient& g);

namespace internal {
// Ends the formula that this thread runs: Gradient::Fail for callers without a Gradient.
[[noreturn]] void FailFormula(const std::string& what);
}  // namespace internal

// Lets `formula`, a Formula, write into `body`. The TfExt_FormulaWriter of all formulas.
void WriteFormula(TfExt_Body* body, void* formula);

// Makes `formula` the gradient of `op` for every client when the library that contains this loads.
// If the op already has a gradient, from its library, TensorFlow or another library, the first
// macro reports an error (to the loader, through TfExt_TakeRegistrationErrors, and in TensorFlow's
// log); the second replaces it. Use at namespace scope.
#define TFEXT_REGISTER_GRADIENT(op, formula) \
  TFEXT_REGISTER_FORMULA(__COUNTER__, op, formula, TFEXT_GRADIENT_NEW)
#define TFEXT_REGISTER_STAND_IN(op, formula) \
  TFEXT_REGISTER_FORMULA(__COUNTER__, op, formula, TFEXT_GRADIENT_INSTEAD)

#define TFEXT_REGISTER_FORMULA(counter, op, formula, precedence)                              \
  TFEXT_AT_LOAD(counter,                                                                      \
                TfExt_RegisterFormula(                                                        \
                    op, ::tensorflow_ext::WriteFormula,                                       \
                    reinterpret_cast<void*>(static_cast<::tensorflow_ext::Formula>(formula)), \
                    precedence) != 0)
#define TFEXT_AT_LOAD(counter, call) TFEXT_AT_LOAD_UNIQUE(counter, call)
#define TFEXT_AT_LOAD_UNIQUE(counter, call) \
  [[maybe_unused]] static const bool tfext_registered_##counter = call

}  // namespace tensorflow_ext
