// CheckGradient on an op whose gradients have one fault each, and on correct gradients. Links only
// TensorFlow.

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
#include "tests/cc/check.h"

namespace {

namespace ops = tensorflow::ops;
using tensorflow::DataType;
using tensorflow::DT_COMPLEX128;
using tensorflow::DT_DOUBLE;
using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;
using tensorflow_ext::Check;
using tensorflow_ext::CheckGradient;
using tensorflow_ext::GradientCheckOptions;
using tensorflow_ext::GradientReport;

constexpr auto kWrong = absl::StatusCode::kFailedPrecondition;
constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

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
  explicit WaveOp(tensorflow::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("function", &function_));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    using Wide = std::conditional_t<std::is_same_v<T, std::complex<double>>, T, double>;
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

#define REGISTER_WAVE(T)                                                                           \
  REGISTER_KERNEL_BUILDER(Name("Test>Wave").Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T"), \
                          WaveOp<T>)
REGISTER_WAVE(Eigen::half);
REGISTER_WAVE(float);
REGISTER_WAVE(double);
REGISTER_WAVE(std::complex<double>);

Output Wave(const Scope& scope, const Output& x, const std::string& fault,
            const std::string& function = "sin") {
  tensorflow::Node* node = nullptr;
  scope.UpdateStatus(tensorflow::NodeBuilder(scope.GetUniqueNameForOp("wave"), "Test>Wave")
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

Output Conjugated(const Scope& scope, const Output& x) {
  return x.type() == DT_COMPLEX128 ? Output(ops::Conj(scope, x)) : x;
}

// dy cos(x), with the fault.
Output Faulty(const Scope& scope, const Output& x, const Output& dy, const std::string& fault) {
  const auto times = [&](const Output& a, const Output& b) {
    return Output(ops::Mul(scope, a, b));
  };
  const Output slope = Wave(scope, x, fault == "second order" ? "factor" : "", "cos");
  if (fault == "conjugate") return times(dy, slope);
  const Output right = times(dy, Conjugated(scope, slope));
  if (fault == "factor") return times(right, Number(scope, 1.05, x.type()));
  if (fault == "shape") return ops::Sum(scope, right, {0});
  if (fault == "type") return ops::Cast(scope, right, DT_FLOAT);
  if (fault == "bits") {
    const Output random = ops::RandomUniform(scope, ops::Shape(scope, right), x.type());
    return ops::Add(scope, right, times(random, Number(scope, 1e-14, x.type())));
  }
  if (fault == "not a number") {
    return ops::Add(scope, right, ops::Log(scope, ops::Sub(scope, x, x)));
  }
  if (fault == "above 100") {
    const Output above =
        ops::Cast(scope, ops::Greater(scope, x, Number(scope, 100, x.type())), x.type());
    return times(right, ops::Add(scope, Number(scope, 1, x.type()),
                                 times(above, Number(scope, 1e-3, x.type()))));
  }
  if (fault == "no second order") {
    return ops::Add(scope, right, times(Number(scope, 0, x.type()), ops::Rint(scope, x)));
  }
  return right;
}

absl::Status WaveGradient(const Scope& scope, const tensorflow::Operation& op,
                          const std::vector<Output>& upstreams, std::vector<Output>* gradients) {
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
    const Output up = ops::Cast(scope, ops::GreaterEqual(scope, x, zero), x.type());
    gradients->push_back(ops::Mul(scope, dy, ops::Mul(scope, up, Number(scope, factor, x.type()))));
  } else if (function == "cos") {
    const double factor = fault == "factor" ? -1.05 : -1;
    const Output slope = ops::Mul(scope, Wave(scope, x, ""), Number(scope, factor, x.type()));
    gradients->push_back(ops::Mul(scope, dy, Conjugated(scope, slope)));
  } else {
    gradients->push_back(Faulty(scope, x, dy, fault));
  }
  return scope.status();
}
REGISTER_GRADIENT_OP("Test>Wave", WaveGradient);

void CheckMessage(const std::string& name, const absl::Status& status, absl::StatusCode code,
                  const std::string& part) {
  Check(status.code() == code && absl::StrContains(status.message(), part),
        absl::StrCat(name, ": expected '", part, "', not ", status.ToString()));
}

Tensor Spread(DataType dtype, int64_t count, double first, double step) {
  Tensor tensor(dtype, {count});
  for (int64_t k = 0; k < count; ++k) {
    const double value = first + step * static_cast<double>(k);
    if (dtype == DT_COMPLEX128) {
      tensor.vec<std::complex<double>>()(k) = {value, 0.5 - value};
    } else if (dtype == DT_DOUBLE) {
      tensor.vec<double>()(k) = value;
    } else if (dtype == DT_FLOAT) {
      tensor.vec<float>()(k) = static_cast<float>(value);
    } else {
      tensor.vec<Eigen::half>()(k) = static_cast<Eigen::half>(value);
    }
  }
  return tensor;
}

Tensor Reshaped(const Tensor& tensor, const tensorflow::TensorShape& shape) {
  Tensor reshaped;
  Check(reshaped.CopyFrom(tensor, shape), "a copy");
  return reshaped;
}

// The report of correct gradients.
GradientReport CheckRight(const Scope& scope, const std::vector<Output>& x,
                          const std::vector<Tensor>& values, const std::vector<Output>& y,
                          const GradientCheckOptions& options = {}) {
  GradientReport report;
  const absl::Status status = CheckGradient(scope, x, values, y, options, &report);
  Check(status.ok(), status.ToString());
  return report;
}

absl::Status CheckWave(const Tensor& at, const std::string& fault, int order = 2,
                       const std::string& function = "sin", GradientReport* report = nullptr) {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope.WithOpName("x"), at.dtype());
  const Output y = Wave(scope, x, fault, function);
  const int nodes = scope.graph()->num_nodes();
  GradientCheckOptions options;
  options.order = order;
  const absl::Status status = CheckGradient(scope, {x}, {at}, {y}, options, report);
  Check(scope.graph()->num_nodes() == nodes, "the graph has changed");
  return status;
}

void TestTypes() {
  for (DataType dtype : {tensorflow::DT_HALF, DT_FLOAT, DT_DOUBLE, DT_COMPLEX128}) {
    const std::string name = DataTypeString(dtype);
    const Tensor at = Spread(dtype, 5, 0.1, 0.3);
    GradientReport report;
    const absl::Status right = CheckWave(at, "", 3, "sin", &report);
    Check(right.ok(), absl::StrCat(name, ": ", right.ToString()));
    Check(report.passed() && report.type == "double", report.ToString());
    Check(absl::StrContains(report.ToString(), "order 3"), report.ToString());
    CheckMessage(name, CheckWave(at, "factor"), kWrong,
                 "order 1, differences, x[0] (x:0): FAILED: ");
  }
}

void TestFaults() {
  struct Fault {
    std::string name;
    std::string message;
    Tensor at = Spread(DT_DOUBLE, 5, 0.1, 0.3);
    int order = 2;
    std::string function = "sin";
  };
  const Fault faults[] = {
      {"conjugate", "6 of 6 slopes differ", Spread(DT_COMPLEX128, 3, 0.1, 0.3)},
      {"second order", "order 2, differences, x[0] (x:0): FAILED: 5 of 5"},
      {"shape", "order 1, gradient, x[0] (x:0): FAILED: shape [], expected [5]"},
      {"type", "type float, expected double"},
      {"bits", "two runs differ"},
      {"not a number", "-inf at [0]"},
      {"none", "no gradient, 5 of 5 slopes differ"},
      {"above 100", "1 of 3 slopes differ, the worst at [2]", Spread(DT_DOUBLE, 3, 99, 0.7)},
      // One element of many.
      {"above 100", "the worst at [299", Spread(DT_DOUBLE, 3000, -199.85, 0.1), 1},
      {"on a kink", "on a kink, but not between", Spread(DT_DOUBLE, 1, 0, 1), 1, "relu"},
      {"infinite output", "order 1, output, y[0] (wave:0): FAILED: nan at [0]",
       Spread(DT_DOUBLE, 1, INFINITY, 0)},
  };
  for (const Fault& fault : faults) {
    CheckMessage(fault.name, CheckWave(fault.at, fault.name, fault.order, fault.function), kWrong,
                 fault.message);
  }
  CheckMessage("no second order", CheckWave(faults[1].at, "no second order"),
               absl::StatusCode::kNotFound, "order 2: ");
}

void TestKink() {
  GradientReport report;
  const absl::Status status = CheckWave(Spread(DT_DOUBLE, 3, -1, 1), "", 2, "relu", &report);
  Check(status.ok(), status.ToString());
  Check(absl::StrContains(report.ToString(), "a step crosses a kink at 1 of 3, first [1]"),
        report.ToString());
}

// Two inputs and an integer, two outputs, TensorFlow's own ops.
void TestStockOps(DataType dtype) {
  const Scope scope = Scope::NewRootScope();
  const Output a = ops::Placeholder(scope.WithOpName("a"), dtype);
  const Output n = ops::Placeholder(scope.WithOpName("n"), DT_INT32);
  const Output b = ops::Placeholder(scope.WithOpName("b"), dtype);
  const Output unused = ops::Placeholder(scope.WithOpName("unused"), dtype);
  const Output c = ops::Const(scope, 0.25f);
  const Output product = ops::MatMul(scope, a, ops::Sin(scope, b));
  const Output sum = ops::Add(scope, product, ops::Cast(scope, c, dtype));
  const Output shape = ops::Reshape(scope, ops::Exp(scope, sum), n);
  const auto matrix = [&](double first) { return Reshaped(Spread(dtype, 4, first, 0.3), {2, 2}); };
  Tensor size(DT_INT32, {1});
  size.vec<int>()(0) = 4;
  const std::vector<Output> x{a, n, b, unused};
  const std::vector<Tensor> values{matrix(-0.3), size, matrix(0.2), matrix(0.1)};
  // Sum leads to the second output, which AddSymbolicGradients by itself gets wrong.
  const std::vector<Output> y{sum, shape, n};
  const std::string text = CheckRight(scope, x, values, y).ToString();
  Check(absl::StrContains(text,
                          "x[3] (unused:0): passed: no gradient, and the "
                          "differences are 0"),
        text);
  Check(absl::StrContains(text, "one output alone, y[1]"), text);
  Check(!absl::StrContains(text, "x[1]"), text);

  GradientCheckOptions options;
  options.required = {0, 3};
  CheckMessage("required", CheckGradient(scope, x, values, y, options), kWrong,
               "but one is required");
  options.required = {1};
  CheckMessage("required", CheckGradient(scope, x, values, y, options), kRefused,
               "required 1; expected the index of a floating or complex x");
  CheckMessage("values", CheckGradient(scope, {a, b}, {values[0]}, y), kRefused,
               "1 values for 2 x");
  CheckMessage("type", CheckGradient(scope, {a}, {size}, y), kRefused,
               "x_values[0] is int32; expected");
  CheckMessage("y", CheckGradient(scope, {a}, {values[0]}, {n}), kRefused, "no y, has a type");
  CheckMessage("node", CheckGradient(scope, {Output()}, {values[0]}, y), kRefused,
               "x[0] is not a tensor");
  CheckMessage("index", CheckGradient(scope, {a}, {values[0]}, {Output(a.node(), 7)}), kRefused,
               "y[0] is not a tensor");
  options = {};
  options.order = 0;
  CheckMessage("order", CheckGradient(scope, x, values, y, options), kRefused, "order 0");
  Check(!CheckGradient(scope, {a}, {values[0]}, {sum}).ok(), "a placeholder that is not fed");
}

// In double, Bitcast reads other bits, so the copy gives other values.
void TestOtherInDouble() {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope, DT_FLOAT);
  const Output bits = ops::Bitcast(scope, x, DT_INT32);
  const Output size = ops::StopGradient(scope, ops::Cast(scope, ops::Size(scope, bits), x.type()));
  const GradientReport report =
      CheckRight(scope, {x}, {Spread(DT_FLOAT, 3, 0.1, 0.4)}, {ops::Mul(scope, x, size)});
  Check(report.type == "the graph's own type", report.ToString());
}

// The example of docs/testing_gradients.md.
void TestExample() {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope, tensorflow::DT_FLOAT);
  const Output y = ops::Mul(scope, ops::Sin(scope, x), x);
  GradientReport report;
  const absl::Status status =
      CheckGradient(scope, {x}, {Tensor(0.3f)}, {y}, GradientCheckOptions(), &report);
  if (!status.ok()) std::fprintf(stderr, "%s\n", report.ToString().c_str());
  Check(status.ok(), status.ToString());
}

// ResizeBilinear returns float for any type; the graph's own type is used.
void TestOwnType() {
  const Scope scope = Scope::NewRootScope();
  const Output x = ops::Placeholder(scope, DT_FLOAT);
  const Output y = ops::ResizeBilinear(scope, x, ops::Const(scope, {3, 3}));
  const Tensor image = Reshaped(Spread(DT_FLOAT, 4, 0.1, 0.4), {1, 2, 2, 1});
  GradientCheckOptions options;
  options.order = 1;
  const GradientReport report = CheckRight(scope, {x}, {image}, {y}, options);
  Check(report.type == "the graph's own type", report.ToString());
}

}  // namespace

int main() {
  TestTypes();
  TestFaults();
  TestKink();
  TestStockOps(DT_FLOAT);
  TestStockOps(DT_DOUBLE);
  TestOwnType();
  TestOtherInDouble();
  TestExample();
  return tensorflow_ext::ExitStatus();
}
