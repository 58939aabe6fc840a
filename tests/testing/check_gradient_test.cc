// SPDX-License-Identifier: Apache-2.0
//
// CheckGradient on an op whose gradients have one fault each, and on right
// ones. Links TensorFlow alone. Prints what is wrong and ends with 1.

#include "tensorflow_ext/testing/check_gradient.h"

#include <cmath>
#include <complex>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/ops/standard_ops.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/graph/node_builder.h"

namespace {

namespace ops = tensorflow::ops;
using tensorflow::DataType;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;
using tensorflow_ext::CheckGradient;
using tensorflow_ext::GradientCheckOptions;
using tensorflow_ext::GradientReport;

// y = sin(x), cos(x) or max(x, 0), with a gradient that has the fault.
REGISTER_OP("Test>Wave")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {half, float, double, complex128}")
    .Attr("function: {'sin', 'cos', 'relu'} = 'sin'")
    .Attr("fault: string = ''")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

template <typename T>
class WaveOp : public tensorflow::OpKernel {
 public:
  explicit WaveOp(tensorflow::OpKernelConstruction* context)
      : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("function", &function_));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    using Wide =
        std::conditional_t<std::is_same_v<T, std::complex<double>>, T, double>;
    const Tensor& x = context->input(0);
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    for (int64_t k = 0; k < x.NumElements(); ++k) {
      const Wide at = static_cast<Wide>(x.flat<T>()(k));
      Wide value = function_ == "cos" ? std::cos(at) : std::sin(at);
      if (function_ == "relu") value = std::real(at) > 0 ? at : Wide(0);
      y->flat<T>()(k) = static_cast<T>(value);
    }
  }

 private:
  std::string function_;
};

#define REGISTER_WAVE(T)                                                       \
  REGISTER_KERNEL_BUILDER(                                                     \
      Name("Test>Wave").Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T"), \
      WaveOp<T>)
REGISTER_WAVE(Eigen::half);
REGISTER_WAVE(float);
REGISTER_WAVE(double);
REGISTER_WAVE(std::complex<double>);

Output Wave(const Scope& scope, const Output& x, const std::string& fault,
            const std::string& function = "sin") {
  tensorflow::Node* node = nullptr;
  scope.UpdateStatus(
      tensorflow::NodeBuilder(scope.GetUniqueNameForOp("wave"), "Test>Wave")
          .Input(x.node(), x.index())
          .Attr("function", function)
          .Attr("fault", fault)
          .Finalize(scope.graph(), &node));
  if (!scope.ok()) return Output();
  scope.UpdateStatus(scope.DoShapeInference(node));
  return Output(node, 0);
}

Output Number(const Scope& scope, double value, DataType dtype) {
  return ops::Cast(scope, ops::Const(scope, value), dtype);
}

// dy cos(x), with the fault.
Output Faulty(const Scope& scope, const Output& x, const Output& dy,
              const std::string& fault) {
  const auto times = [&](const Output& a, const Output& b) {
    return Output(ops::Mul(scope, a, b));
  };
  const Output slope =
      Wave(scope, x, fault == "second order" ? "factor" : "", "cos");
  if (fault == "conjugate") return times(dy, slope);
  const bool is_complex = x.type() == tensorflow::DT_COMPLEX128;
  const Output right =
      times(dy, is_complex ? Output(ops::Conj(scope, slope)) : slope);
  if (fault == "factor") return times(right, Number(scope, 1.05, x.type()));
  if (fault == "shape") return ops::Sum(scope, right, {0});
  if (fault == "type") return ops::Cast(scope, right, tensorflow::DT_FLOAT);
  if (fault == "bits") {
    const Output random =
        ops::RandomUniform(scope, ops::Shape(scope, right), x.type());
    return ops::Add(scope, right,
                    times(random, Number(scope, 1e-14, x.type())));
  }
  if (fault == "not a number") {
    return ops::Add(scope, right, ops::Log(scope, ops::Sub(scope, x, x)));
  }
  if (fault == "above 100") {
    const Output above = ops::Cast(
        scope, ops::Greater(scope, x, Number(scope, 100, x.type())), x.type());
    return times(right, ops::Add(scope, Number(scope, 1, x.type()),
                                 times(above, Number(scope, 1e-3, x.type()))));
  }
  if (fault == "no second order") {
    return ops::Add(scope, right,
                    times(Number(scope, 0, x.type()), ops::Rint(scope, x)));
  }
  return right;
}

absl::Status WaveGradient(const Scope& scope, const Operation& op,
                          const std::vector<Output>& upstreams,
                          std::vector<Output>* gradients) {
  const auto& attributes = op.node()->attrs();
  std::string fault, function;
  TF_RETURN_IF_ERROR(GetNodeAttr(attributes, "fault", &fault));
  TF_RETURN_IF_ERROR(GetNodeAttr(attributes, "function", &function));
  const Output x = op.input(0), dy = upstreams[0];
  if (fault == "none") {
    gradients->push_back(tensorflow::NoGradient());
  } else if (function == "relu") {
    const Output zero = Number(scope, 0, x.type());
    const double factor = fault == "on a kink" ? 1.5 : 1;
    const Output up =
        ops::Cast(scope, ops::GreaterEqual(scope, x, zero), x.type());
    gradients->push_back(ops::Mul(
        scope, dy, ops::Mul(scope, up, Number(scope, factor, x.type()))));
  } else if (function == "cos") {
    const double factor = fault == "factor" ? -1.05 : -1;
    const Output slope =
        ops::Mul(scope, Wave(scope, x, ""), Number(scope, factor, x.type()));
    gradients->push_back(ops::Mul(scope, dy,
                                  x.type() == tensorflow::DT_COMPLEX128
                                      ? Output(ops::Conj(scope, slope))
                                      : slope));
  } else {
    gradients->push_back(Faulty(scope, x, dy, fault));
  }
  return scope.status();
}
REGISTER_GRADIENT_OP("Test>Wave", WaveGradient);

int failures = 0;

void Check(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  ++failures;
}

void CheckMessage(const std::string& name, const absl::Status& status,
                  absl::StatusCode code, const std::string& part) {
  Check(status.code() == code && absl::StrContains(status.message(), part),
        absl::StrCat(name, ": expected '", part, "', not ", status.ToString()));
}

Tensor Spread(DataType dtype, int64_t count, double first, double step) {
  Tensor wide(tensorflow::DT_DOUBLE, {count});
  for (int64_t k = 0; k < count; ++k) {
    wide.vec<double>()(k) = first + step * static_cast<double>(k);
  }
  if (dtype == tensorflow::DT_DOUBLE) return wide;
  Tensor tensor(dtype, {count});
  for (int64_t k = 0; k < count; ++k) {
    const double value = wide.vec<double>()(k);
    if (dtype == tensorflow::DT_COMPLEX128) {
      tensor.vec<std::complex<double>>()(k) = {value, 0.5 - value};
    } else if (dtype == tensorflow::DT_FLOAT) {
      tensor.vec<float>()(k) = static_cast<float>(value);
    } else {
      tensor.vec<Eigen::half>()(k) = static_cast<Eigen::half>(value);
    }
  }
  return tensor;
}

absl::Status CheckWave(DataType dtype, const Tensor& at,
                       const std::string& fault, int order = 2,
                       const std::string& function = "sin",
                       GradientReport* report = nullptr,
                       const std::vector<int>& required = {}) {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope.WithOpName("x"), dtype);
  const Output y = Wave(scope, x, fault, function);
  const int nodes = scope.graph()->num_nodes();
  GradientCheckOptions options;
  options.order = order;
  options.required = required;
  const absl::Status status =
      CheckGradient(scope, {x}, {at}, {y}, options, report);
  Check(scope.graph()->num_nodes() == nodes, "the graph has changed");
  return status;
}

void TestFaults() {
  using tensorflow::DT_COMPLEX128;
  using tensorflow::DT_DOUBLE;
  using tensorflow::DT_FLOAT;
  using tensorflow::DT_HALF;
  const auto wrong = absl::StatusCode::kFailedPrecondition;
  for (DataType dtype : {DT_HALF, DT_FLOAT, DT_DOUBLE, DT_COMPLEX128}) {
    const std::string name = DataTypeString(dtype);
    const Tensor at = Spread(dtype, 5, 0.1, 0.3);
    GradientReport report;
    const absl::Status right = CheckWave(dtype, at, "", 3, "sin", &report);
    Check(right.ok(), absl::StrCat(name, ": ", right.ToString()));
    Check(report.passed() && report.type == "double", report.ToString());
    Check(absl::StrContains(report.ToString(), "order 3"), report.ToString());
    CheckMessage(name, CheckWave(dtype, at, "factor"), wrong,
                 "order 1, differences, x[0] (x:0): FAILED: ");
  }
  const Tensor at = Spread(DT_DOUBLE, 5, 0.1, 0.3);
  CheckMessage(
      "conjugate",
      CheckWave(DT_COMPLEX128, Spread(DT_COMPLEX128, 3, 0.1, 0.3), "conjugate"),
      wrong, "6 of 6 slopes differ");
  CheckMessage("second order", CheckWave(DT_DOUBLE, at, "second order"), wrong,
               "order 2, differences, x[0] (x:0): FAILED: 5 of 5");
  CheckMessage("shape", CheckWave(DT_DOUBLE, at, "shape"), wrong,
               "order 1, gradient, x[0] (x:0): FAILED: shape [], expected [5]");
  CheckMessage("type", CheckWave(DT_DOUBLE, at, "type"), wrong,
               "type float, expected double");
  CheckMessage("bits", CheckWave(DT_DOUBLE, at, "bits"), wrong,
               "two runs differ");
  CheckMessage("not a number", CheckWave(DT_DOUBLE, at, "not a number"), wrong,
               "-inf at [0]");
  CheckMessage("none", CheckWave(DT_DOUBLE, at, "none"), wrong,
               "no gradient, 5 of 5 slopes differ");
  CheckMessage("above 100",
               CheckWave(DT_DOUBLE, Spread(DT_DOUBLE, 3, 99, 0.7), "above 100"),
               wrong, "1 of 3 slopes differ, the worst at [2]");
  CheckMessage("one of many",
               CheckWave(DT_DOUBLE, Spread(DT_DOUBLE, 3000, -199.85, 0.1),
                         "above 100", 1),
               wrong, "the worst at [299");
  CheckMessage(
      "on a kink",
      CheckWave(DT_DOUBLE, Spread(DT_DOUBLE, 1, 0, 1), "on a kink", 1, "relu"),
      wrong, "on a kink, but not between");
  CheckMessage("no second order", CheckWave(DT_DOUBLE, at, "no second order"),
               absl::StatusCode::kNotFound, "order 2: ");
  CheckMessage("infinite output",
               CheckWave(DT_DOUBLE, Spread(DT_DOUBLE, 1, INFINITY, 0), ""),
               wrong, "order 1, output, y[0] (wave:0): FAILED: nan at [0]");
}

void TestKink() {
  GradientReport report;
  const absl::Status status =
      CheckWave(tensorflow::DT_DOUBLE, Spread(tensorflow::DT_DOUBLE, 3, -1, 1),
                "", 2, "relu", &report);
  Check(status.ok(), status.ToString());
  Check(absl::StrContains(report.ToString(),
                          "a step crosses a kink at 1 of 3, first [1]"),
        report.ToString());
}

// Two inputs and an integer, two outputs, TensorFlow's own ops.
void TestStockOps(DataType dtype) {
  const Scope scope = Scope::NewRootScope();
  const Output a = ops::Placeholder(scope.WithOpName("a"), dtype);
  const Output n =
      ops::Placeholder(scope.WithOpName("n"), tensorflow::DT_INT32);
  const Output b = ops::Placeholder(scope.WithOpName("b"), dtype);
  const Output unused = ops::Placeholder(scope.WithOpName("unused"), dtype);
  const Output c = ops::Const(scope, 0.25f);
  const Output product = ops::MatMul(scope, a, ops::Sin(scope, b));
  const Output sum = ops::Add(scope, product, ops::Cast(scope, c, dtype));
  const Output shape = ops::Reshape(scope, ops::Exp(scope, sum), n);
  const auto matrix = [&](double first) {
    Tensor rows(dtype, {2, 2});
    Check(rows.CopyFrom(Spread(dtype, 4, first, 0.3), {2, 2}), "a copy");
    return rows;
  };
  Tensor size(tensorflow::DT_INT32, {1});
  size.vec<int>()(0) = 4;
  GradientReport report;
  GradientCheckOptions options;
  const std::vector<Output> x{a, n, b, unused};
  const std::vector<Tensor> values{matrix(-0.3), size, matrix(0.2),
                                   matrix(0.1)};
  // Sum leads to the second output: AddSymbolicGradients alone gets that wrong.
  const std::vector<Output> y{sum, shape, n};
  absl::Status status = CheckGradient(scope, x, values, y, options, &report);
  Check(status.ok(), status.ToString());
  const std::string text = report.ToString();
  Check(absl::StrContains(text,
                          "x[3] (unused:0): passed: no gradient, and the "
                          "differences are 0"),
        text);
  Check(absl::StrContains(text, "one output alone, y[1]"), text);
  Check(!absl::StrContains(text, "x[1]"), text);

  options.required = {0, 3};
  CheckMessage("required", CheckGradient(scope, x, values, y, options),
               absl::StatusCode::kFailedPrecondition, "but one is required");
  const auto refused = absl::StatusCode::kInvalidArgument;
  options.required = {1};
  CheckMessage("required", CheckGradient(scope, x, values, y, options), refused,
               "required 1; expected the index of a floating or complex x");
  CheckMessage("values", CheckGradient(scope, {a, b}, {values[0]}, y), refused,
               "1 values of 2 x");
  CheckMessage("type", CheckGradient(scope, {a}, {size}, y), refused,
               "x_values[0] is int32; expected");
  CheckMessage("y", CheckGradient(scope, {a}, {values[0]}, {n}), refused,
               "no y has a gradient");
  CheckMessage("node", CheckGradient(scope, {Output()}, {values[0]}, y),
               refused, "x[0] is no tensor");
  CheckMessage("index",
               CheckGradient(scope, {a}, {values[0]}, {Output(a.node(), 7)}),
               refused, "y[0] is no tensor");
  options = {};
  options.order = 0;
  CheckMessage("order", CheckGradient(scope, x, values, y, options), refused,
               "order 0");
  Check(!CheckGradient(scope, {a}, {values[0]}, {sum}).ok(),
        "a placeholder that is not fed");
}

// In double, Bitcast takes other bits: the copy gives other values.
void TestOtherInDouble() {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope, tensorflow::DT_FLOAT);
  const Output bits = ops::Bitcast(scope, x, tensorflow::DT_INT32);
  const Output size = ops::StopGradient(
      scope, ops::Cast(scope, ops::Size(scope, bits), x.type()));
  GradientReport report;
  const absl::Status status =
      CheckGradient(scope, {x}, {Spread(tensorflow::DT_FLOAT, 3, 0.1, 0.4)},
                    {ops::Mul(scope, x, size)}, {}, &report);
  Check(status.ok(), status.ToString());
  Check(report.type == "the graph's own type", report.ToString());
}

// As docs/testing_gradients.md has it.
void TestExample() {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope, tensorflow::DT_FLOAT);
  const Output y = ops::Mul(scope, ops::Sin(scope, x), x);
  GradientReport report;
  const absl::Status status = CheckGradient(scope, {x}, {Tensor(0.3f)}, {y},
                                            GradientCheckOptions(), &report);
  if (!status.ok()) std::fprintf(stderr, "%s\n", report.ToString().c_str());
  Check(status.ok(), status.ToString());
}

// ResizeBilinear gives float whatever it takes: the graph's own type serves.
void TestOwnType() {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope, tensorflow::DT_FLOAT);
  const Output y = ops::ResizeBilinear(scope, x, ops::Const(scope, {3, 3}));
  Tensor image(tensorflow::DT_FLOAT, {1, 2, 2, 1});
  Check(image.CopyFrom(Spread(tensorflow::DT_FLOAT, 4, 0.1, 0.4), {1, 2, 2, 1}),
        "a copy");
  GradientReport report;
  GradientCheckOptions options;
  options.order = 1;
  const absl::Status status =
      CheckGradient(scope, {x}, {image}, {y}, options, &report);
  Check(status.ok(), status.ToString());
  Check(report.type == "the graph's own type", report.ToString());
}

}  // namespace

int main() {
  TestFaults();
  TestKink();
  TestStockOps(tensorflow::DT_FLOAT);
  TestStockOps(tensorflow::DT_DOUBLE);
  TestOwnType();
  TestOtherInDouble();
  TestExample();
  if (failures == 0) std::puts("fine");
  return failures == 0 ? 0 : 1;
}
