// Minimize, variables and savers of a C++ client that links libtensorflow_ext.so.

#include "tensorflow_ext/minimize.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/cc/ops/math_ops.h"
#include "tensorflow/cc/ops/resource_variable_ops.h"
#include "tensorflow/core/public/session.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {
namespace {

namespace ops = tensorflow::ops;
using tensorflow::DT_DOUBLE;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;

std::unique_ptr<tensorflow::Session> NewSession(const Scope& scope) {
  tensorflow::GraphDef graph_def;
  CheckOk(scope.ToGraphDef(&graph_def));
  std::unique_ptr<tensorflow::Session> session(tensorflow::NewSession({}));
  CheckOk(session->Create(graph_def));
  return session;
}

// The loss x * x + x for x = 3, and a variable that it does not depend on.
struct Parabola {
  Parabola() {
    const tensorflow::TensorShape scalar;
    x = ops::VarHandleOp(scope, DT_DOUBLE, scalar, ops::VarHandleOp::SharedName("x"));
    other = ops::VarHandleOp(scope, DT_DOUBLE, scalar, ops::VarHandleOp::SharedName("other"));
    start = ops::AssignVariableOp(scope, x, 3.0).operation;
    value = ops::ReadVariableOp(scope, x, DT_DOUBLE);
    loss = ops::Add(scope, ops::Mul(scope, value, value), value);
  }

  // Runs a number of steps and returns x.
  double Train(const TrainingStep& training, int steps) const {
    const std::unique_ptr<tensorflow::Session> session = NewSession(scope);
    CheckOk(
        session->Run({}, {}, {start.node()->name(), training.initialize.node()->name()}, nullptr));
    for (int i = 0; i < steps; ++i) {
      CheckOk(session->Run({}, {}, {training.step.node()->name()}, nullptr));
    }
    std::vector<Tensor> fetched;
    CheckOk(session->Run({}, {value.name()}, {}, &fetched));
    return fetched.empty() ? 0 : fetched[0].scalar<double>()();
  }

  Scope scope = Scope::NewRootScope();
  Output x, other, value, loss;
  tensorflow::Operation start;
};

void CheckNear(double found, double expected, const std::string& what) {
  Check(std::abs(found - expected) < 1e-5, what + ": " + std::to_string(found));
}

void Steps() {
  const Parabola parabola;
  SGD sgd;
  sgd.learning_rate = 0.25;
  TrainingStep training;
  CheckOk(Minimize(parabola.scope, parabola.loss, {parabola.x, parabola.other}, sgd, &training));
  if (training.state.size() != 2) return Check(false, "two variables of the optimizer");
  Check(
      training.state[0].name == "sgd/_iterations" && training.state[1].name == "sgd/_learning_rate",
      "the names of the optimizer's variables");
  Check(training.iteration.node() == training.state[0].handle.node() &&
            training.learning_rate.node() == training.state[1].handle.node(),
        "their handles");
  CheckNear(parabola.Train(training, 2), 0.375, "3 - 7/4 - (2 * 5/4 + 1)/4");
}

void TwoOptimizersAndASchedule() {
  const Parabola parabola;
  PiecewiseConstantDecay decay;
  decay.boundaries = {0};
  decay.values = {0.5, 0.25};
  SGD scheduled;
  scheduled.learning_rate = decay;
  scheduled.name = "down \"\\ the hill";
  TrainingStep training;
  CheckOk(Minimize(parabola.scope, parabola.loss, {parabola.x}, scheduled, &training));
  Check(training.learning_rate.node() == nullptr, "no learning rate beside a schedule");
  CheckNear(parabola.Train(training, 2), -0.5, "3 - 7/2, at the minimum");
  Adam adam;
  adam.learning_rate = 1;
  CheckOk(Minimize(parabola.scope, parabola.loss, {parabola.x}, adam, &training));
  CheckNear(parabola.Train(training, 1), 2, "a step of Adam, which is its learning rate");
  CheckOk(Minimize(parabola.scope, parabola.loss, {parabola.x}, Optimizer::FromJson("adam"),
                   &training));
  CheckNear(parabola.Train(training, 1), 2.999, "a step of another one");
  Check(training.state[0].name == "adam_1/_iterations", training.state[0].name);
}

void ScaledLosses() {
  const Parabola parabola;
  LossScaleOptimizer scaling;
  SGD sgd;
  sgd.learning_rate = 0.25;
  scaling.inner_optimizer = sgd;
  scaling.name = "scaling";
  TrainingStep training;
  CheckOk(Minimize(parabola.scope, parabola.loss, {parabola.x}, scaling, &training));
  CheckNear(parabola.Train(training, 2), 0.375, "the same as without scaling");
  Check(training.state.back().name == "scaling/dynamic_scale", training.state.back().name);
}

// Variables whose values a checkpoint keeps.
void Savers() {
  const Scope scope = Scope::NewRootScope();
  Variables made;
  CheckOk(NewVariables(scope,
                       {{"layer/ones", DT_DOUBLE, {2}, initializers::Ones{}},
                        {"layer/draws", DT_DOUBLE, {2}, Initializer::FromJson("he_normal")}},
                       &made));
  const Output value = ops::ReadVariableOp(scope, made.handles[1], DT_DOUBLE);
  const ops::AssignVariableOp zero(scope, made.handles[1], {0.0, 0.0});
  Saver saver;
  CheckOk(AddSaver(scope, made.Saved(), &saver));
  const std::unique_ptr<tensorflow::Session> session = NewSession(scope);
  const auto draws = [&] {
    std::vector<Tensor> fetched;
    CheckOk(session->Run({}, {value.name()}, {}, &fetched));
    return fetched.empty() ? 0 : fetched[0].flat<double>()(0);
  };
  const std::string prefix = std::string(std::getenv("TEST_TMPDIR")) + "/saved";
  CheckOk(session->Run({}, {}, {made.initialize.node()->name()}, nullptr));
  const double first = draws();
  CheckOk(saver.Save(session.get(), prefix));
  CheckOk(session->Run({}, {}, {zero.operation.node()->name()}, nullptr));
  Check(first != 0 && draws() == 0, "the draws are gone");
  CheckOk(saver.Restore(session.get(), prefix));
  Check(draws() == first, "the draws that were saved");
  Check(absl::IsNotFound(saver.Restore(session.get(), prefix + "_none")), "there is no such file");
  const absl::Status again =
      NewVariables(scope, {{"layer/ones", DT_DOUBLE, {}, initializers::Ones{}}}, &made);
  Check(absl::StrContains(again.message(), "'layer/ones' cannot name a node"), again.ToString());
}

void Errors() {
  const Parabola parabola;
  const auto check = [&](const Optimizer& optimizer, const std::vector<Output>& variables,
                         const std::string& expected) {
    TrainingStep training;
    const absl::Status status =
        Minimize(parabola.scope, parabola.loss, variables, optimizer, &training);
    Check(absl::IsInvalidArgument(status) && absl::StrContains(status.message(), expected),
          status.ToString());
    Check(training.step.node() == nullptr, "nothing is given back after an error");
  };
  Adam adam;
  check(adam, {parabola.value}, "expected the handles of variables");
  check(adam, {parabola.other}, "expected a gradient of at least one variable");
  const Parabola second;
  TrainingStep training;
  const auto apply = [&](const Output& gradient, const Output& variable) {
    const auto status = ApplyGradients(parabola.scope, {gradient}, {variable}, adam, &training);
    return std::string(status.message());
  };
  Check(absl::StrContains(apply(parabola.value, second.x), "'VarHandleOp' is a node of another"),
        "a variable of another graph");
  const Output wide = ops::Const(parabola.scope, {1.0, 2.0});
  Check(absl::StrContains(apply(wide, parabola.x), "adam/gradient/x}}"), "a gradient's shape");
  const Output loss = parabola.loss;
  const absl::Status is_int =
      Minimize(parabola.scope, ops::Cast(parabola.scope, loss, tensorflow::DT_INT32), {parabola.x},
               adam, &training);
  Check(absl::StrContains(is_int.message(), "has the type int32; expected half"),
        is_int.ToString());
  adam.beta_1 = 2;
  check(adam, {parabola.x}, "Adam: beta_1 must be a number in [0, 1]");
  adam.beta_1 = std::numeric_limits<double>::quiet_NaN();
  check(adam, {parabola.x}, "Adam: beta_1 must be a number");
  adam = Adam();
  adam.learning_rate = CosineDecay();
  check(adam, {parabola.x}, "CosineDecay: initial_learning_rate must be a number, got nothing");
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  tensorflow_ext::Steps();
  tensorflow_ext::TwoOptimizersAndASchedule();
  tensorflow_ext::ScaledLosses();
  tensorflow_ext::Savers();
  tensorflow_ext::Errors();
  return tensorflow_ext::ExitStatus();
}
