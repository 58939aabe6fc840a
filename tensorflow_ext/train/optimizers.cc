#include "tensorflow_ext/train/optimizers.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorflow_ext::train {
namespace {

// Runs a fused kernel on the variable, its slots and then `rest`.
void Apply(const Update& u, const char* kernel, const std::vector<Expr>& rest,
           const Body::Attributes& attributes = {}) {
  std::vector<Expr> inputs = {u.variable.handle};
  for (const Place& slot : u.slots) inputs.push_back(slot.handle);
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  u.body->Add(kernel, inputs, attributes);
}

Expr Number(const Update& u, double value) { return u.body->Constant(value, u.variable.type); }

// Where Keras rounds a hyperparameter to a float, also for double variables.
double Rounded(double value) { return static_cast<float>(value); }

Expr Power(double beta, const Expr& step) { return Pow(Rounded(beta), step); }

Body::Attributes Flag(const char* name, bool value) {
  tensorflow::AttrValue attribute;
  attribute.set_b(value);
  return {{name, attribute}};
}

// place = rate * place + (1 - rate) * value, as Keras writes it in RMSprop and Adadelta.
void Average(const Update& u, const Place& place, double rate, const Expr& value) {
  u.body->Assign(place, u.body->Read(place) * rate + value * (1 - rate));
}

// place += (value - place) * (1 - rate), as Keras writes it in Adam.
void MoveTo(const Update& u, const Place& place, double rate, const Expr& value) {
  u.body->AssignAdd(place, (value - u.body->Read(place)) * (1 - rate));
}

double InUnit(Config* c, const char* key, double otherwise) {
  const double value = c->Number(key, otherwise);
  c->Check(value >= 0 && value <= 1, key, "a number in [0, 1]");
  return value;
}

double NotNegative(Config* c, const char* key, double otherwise) {
  const double value = c->Number(key, otherwise);
  c->Check(value >= 0, key, "a number >= 0");
  return value;
}

Optimizer Sgd(Config* c) {
  const double momentum = InUnit(c, "momentum", 0);
  const bool nesterov = c->Flag("nesterov", false);
  Optimizer optimizer;
  if (momentum == 0) {
    optimizer.leaves_zero_rows = true;
    optimizer.update = [](const Update& u) {
      if (u.is_fused)
        return Apply(u, "ResourceApplyGradientDescent", {u.learning_rate, u.gradient});
      u.body->AssignSub(u.variable, u.gradient * u.learning_rate);
    };
    return optimizer;
  }
  optimizer.slots = {{"momentum"}};
  optimizer.update = [=](const Update& u) {
    const Expr rate = Number(u, momentum);
    if (u.is_fused) {
      return Apply(u, "ResourceApplyKerasMomentum", {u.learning_rate, u.gradient, rate},
                   Flag("use_nesterov", nesterov));
    }
    const Place& m = u.slots[0];
    const Expr step = u.gradient * u.learning_rate;
    u.body->Assign(m, u.body->Read(m) * rate - step);
    u.body->AssignAdd(u.variable, nesterov ? u.body->Read(m) * rate - step : u.body->Read(m));
  };
  return optimizer;
}

Optimizer RmsProp(Config* c) {
  const double rho = InUnit(c, "rho", 0.9), momentum = NotNegative(c, "momentum", 0),
               epsilon = c->Number("epsilon", 1e-7);
  const bool centered = c->Flag("centered", false);
  Optimizer optimizer;
  optimizer.slots = {{"velocity"}};
  if (momentum > 0) optimizer.slots.push_back({"momentum", 0, /*is_apart=*/true});
  if (centered) optimizer.slots.push_back({"average_gradient", 0, /*is_apart=*/true});
  optimizer.update = [=](const Update& u) {
    if (u.is_fused && momentum > 0 && !centered) {
      return Apply(
          u, "ResourceApplyRMSProp",
          {u.learning_rate, Number(u, rho), Number(u, momentum), Number(u, epsilon), u.gradient});
    }
    const Place &velocity = u.slots[0], &average = u.slots.back();
    Average(u, velocity, rho, Square(u.gradient));
    Expr variance = u.body->Read(velocity);
    if (centered) {
      Average(u, average, rho, u.gradient);
      variance = variance - Square(u.body->Read(average));
    }
    Expr step = u.learning_rate * u.gradient / Sqrt(variance + epsilon);
    if (momentum > 0) {
      const Place& m = u.slots[1];
      u.body->Assign(m, u.body->Read(m) * momentum + step);
      step = u.body->Read(m);
    }
    u.body->AssignSub(u.variable, step);
  };
  return optimizer;
}

Optimizer Adagrad(Config* c) {
  const double initial = NotNegative(c, "initial_accumulator_value", 0.1),
               epsilon = c->Number("epsilon", 1e-7);
  Optimizer optimizer;
  optimizer.slots = {{"accumulator", initial}};
  optimizer.leaves_zero_rows = true;
  // ResourceApplyAdagradV2 adds epsilon to the root, Keras to its argument.
  optimizer.update = [=](const Update& u) {
    const Place& sum = u.slots[0];
    u.body->AssignAdd(sum, Square(u.gradient));
    u.body->AssignSub(u.variable, u.learning_rate * u.gradient / Sqrt(u.body->Read(sum) + epsilon));
  };
  return optimizer;
}

Optimizer Adadelta(Config* c) {
  const double rho = InUnit(c, "rho", 0.95), epsilon = c->Number("epsilon", 1e-7);
  Optimizer optimizer;
  optimizer.slots = {{"accumulated_grad"}, {"accumulated_delta_var"}};
  optimizer.update = [=](const Update& u) {
    if (u.is_fused) {
      return Apply(u, "ResourceApplyAdadelta",
                   {u.learning_rate, Number(u, rho), Number(u, epsilon), u.gradient});
    }
    const Place &squares = u.slots[0], &deltas = u.slots[1];
    Average(u, squares, rho, Square(u.gradient));
    const Expr delta =
        Sqrt(u.body->Read(deltas) + epsilon) * u.gradient / Sqrt(u.body->Read(squares) + epsilon);
    Average(u, deltas, rho, Square(delta));
    u.body->AssignSub(u.variable, u.learning_rate * delta);
  };
  return optimizer;
}

Optimizer Adam(Config* c) {
  const double beta_1 = InUnit(c, "beta_1", 0.9), beta_2 = InUnit(c, "beta_2", 0.999),
               epsilon = c->Number("epsilon", 1e-7);
  const bool amsgrad = c->Flag("amsgrad", false);
  Optimizer optimizer;
  optimizer.slots = {{"momentum"}, {"velocity"}};
  if (amsgrad) optimizer.slots.push_back({"velocity_hat", 0, /*is_apart=*/true});
  optimizer.update = [=](const Update& u) {
    const Expr power_1 = Power(beta_1, u.step), power_2 = Power(beta_2, u.step);
    if (u.is_fused) {
      return Apply(u, amsgrad ? "ResourceApplyAdamWithAmsgrad" : "ResourceApplyAdam",
                   {power_1, power_2, u.learning_rate, Number(u, beta_1), Number(u, beta_2),
                    Number(u, epsilon), u.gradient});
    }
    const Place &m = u.slots[0], &v = u.slots[1], &largest = u.slots.back();
    MoveTo(u, m, beta_1, u.gradient);
    MoveTo(u, v, beta_2, Square(u.gradient));
    Expr variance = u.body->Read(v);
    if (amsgrad) {
      u.body->Assign(largest, Maximum(u.body->Read(largest), variance));
      variance = u.body->Read(largest);
    }
    const Expr alpha = u.learning_rate * Sqrt(1 - power_2) / (1 - power_1);
    u.body->AssignSub(u.variable, u.body->Read(m) * alpha / (Sqrt(variance) + epsilon));
  };
  return optimizer;
}

Optimizer Adamax(Config* c) {
  const double beta_1 = InUnit(c, "beta_1", 0.9), beta_2 = InUnit(c, "beta_2", 0.999),
               epsilon = c->Number("epsilon", 1e-7);
  Optimizer optimizer;
  optimizer.slots = {{"momentum"}, {"norm"}};
  optimizer.update = [=](const Update& u) {
    const Expr power = Power(beta_1, u.step);
    if (u.is_fused) {
      return Apply(u, "ResourceApplyAdaMax",
                   {power, u.learning_rate, Number(u, beta_1), Number(u, beta_2),
                    Number(u, epsilon), u.gradient});
    }
    const Place &m = u.slots[0], &norm = u.slots[1];
    MoveTo(u, m, beta_1, u.gradient);
    u.body->Assign(norm, Maximum(u.body->Read(norm) * beta_2, u.body->Add("Abs", {u.gradient})));
    u.body->AssignSub(u.variable, u.learning_rate * u.body->Read(m) /
                                      ((1 - power) * (u.body->Read(norm) + epsilon)));
  };
  return optimizer;
}

// The factor of step `t` in Nadam's momentum.
Expr NadamFactor(double beta_1, const Expr& t) { return (1 - Power(0.96, t) * 0.5) * beta_1; }

Optimizer Nadam(Config* c) {
  const double beta_1 = InUnit(c, "beta_1", 0.9), beta_2 = InUnit(c, "beta_2", 0.999),
               epsilon = c->Number("epsilon", 1e-7);
  Optimizer optimizer;
  optimizer.slots = {{"momentum"}, {"velocity"}};
  optimizer.product = [=](const Expr& step) { return NadamFactor(beta_1, step); };
  optimizer.update = [=](const Update& u) {
    const Place &m = u.slots[0], &v = u.slots[1];
    const Expr factor = NadamFactor(beta_1, u.step), next = NadamFactor(beta_1, u.step + 1);
    MoveTo(u, m, Rounded(beta_1), u.gradient);
    MoveTo(u, v, Rounded(beta_2), Square(u.gradient));
    const Expr mean = u.body->Read(m) * next / (1 - u.product * next) +
                      u.gradient * (1 - factor) / (1 - u.product);
    const Expr variance = u.body->Read(v) / (1 - Power(beta_2, u.step));
    u.body->AssignSub(u.variable, mean * u.learning_rate / (Sqrt(variance) + epsilon));
  };
  return optimizer;
}

Optimizer Ftrl(Config* c) {
  const double power = c->Number("learning_rate_power", -0.5);
  c->Check(power <= 0, "learning_rate_power", "a number <= 0");
  const double initial = NotNegative(c, "initial_accumulator_value", 0.1),
               l1 = NotNegative(c, "l1_regularization_strength", 0),
               l2 = NotNegative(c, "l2_regularization_strength", 0),
               shrinkage = NotNegative(c, "l2_shrinkage_regularization_strength", 0),
               beta = NotNegative(c, "beta", 0);
  Optimizer optimizer;
  optimizer.slots = {{"accumulator", initial}, {"linear"}};
  // ResourceApplyFtrlV2 adds the shrinkage to the square of the gradient, Keras does not.
  optimizer.update = [=](const Update& u) {
    Body* const body = u.body;
    const Place &sum = u.slots[0], &linear = u.slots[1];
    const Expr x = body->Read(u.variable), before = body->Read(sum);
    const Expr after = before + Square(u.gradient);
    const Expr root = Pow(after, -power);
    body->AssignAdd(linear, u.gradient + x * (2 * shrinkage) -
                                (root - Pow(before, -power)) / u.learning_rate * x);
    const Expr l = body->Read(linear);
    const Expr quadratic = root / u.learning_rate + (beta / (u.learning_rate * 2) + l2) * 2;
    const Expr clipped = Minimum(Maximum(l, Number(u, -l1)), Number(u, l1));
    body->Assign(u.variable, (clipped - l) / quadratic);
    body->Assign(sum, after);
  };
  return optimizer;
}

Optimizer Lion(Config* c) {
  const double beta_1 = c->Number("beta_1", 0.9), beta_2 = InUnit(c, "beta_2", 0.99);
  c->Check(beta_1 > 0 && beta_1 <= 1, "beta_1", "a number in (0, 1]");
  Optimizer optimizer;
  optimizer.slots = {{"momentum"}};
  optimizer.update = [=](const Update& u) {
    const Place& m = u.slots[0];
    const Expr mixed = u.body->Read(m) * beta_1 + u.gradient * (1 - beta_1);
    u.body->AssignSub(u.variable, u.learning_rate * u.body->Add("Sign", {mixed}));
    Average(u, m, beta_2, u.gradient);
  };
  return optimizer;
}

}  // namespace

absl::StatusOr<Optimizer> MakeOptimizer(Config* config) {
  // AdamW is Adam with another default of weight_decay.
  static const auto* const makers = new std::map<std::string, Optimizer (*)(Config*)>{
      {"adadelta", Adadelta}, {"adagrad", Adagrad}, {"adam", Adam}, {"adamax", Adamax},
      {"adamw", Adam},        {"ftrl", Ftrl},       {"lion", Lion}, {"nadam", Nadam},
      {"rmsprop", RmsProp},   {"sgd", Sgd},
  };
  const auto found = makers->find(absl::AsciiStrToLower(config->class_name()));
  if (found != makers->end()) return found->second(config);
  std::vector<std::string> names;
  for (const auto& maker : *makers) names.push_back(maker.first);
  return absl::InvalidArgumentError(absl::StrCat("optimizer: expected one of ",
                                                 absl::StrJoin(names, ", "), ", got '",
                                                 config->class_name(), "'"));
}

}  // namespace tensorflow_ext::train
