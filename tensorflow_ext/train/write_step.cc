#include "tensorflow_ext/train/write_step.h"

namespace tensorflow_ext::train {

using tensorflow::DataType;
using tensorflow::DT_DOUBLE;
using tensorflow::DT_FLOAT;
using tensorflow::DT_INT64;

namespace {

Expr IsMultiple(const Expr& x, int of) {
  Body* const body = x.body;
  return body->Add("Equal", {body->Add("FloorMod", {x, body->Constant(of, DT_INT64)}),
                             body->Constant(0, DT_INT64)});
}

class StepWriter {
 public:
  StepWriter(const Rules& rules, const StepState& state) : rules_(rules), state_(state) {}

  void Write(Body* body) {
    std::vector<Expr> gradients;
    for (const Parameter& p : state_.parameters) gradients.push_back(p.gradient);
    if (!rules_.loss_scaling) {
      if (rules_.loss_scale_factor) {
        for (Expr& g : gradients) g = g / *rules_.loss_scale_factor;
      }
      return Step(body, gradients);
    }
    const Expr scale = body->Read(state_.loss_scale), count = body->Read(state_.finite_steps);
    Expr all_finite;
    for (const Expr& g : gradients) {
      const Expr finite = All(body->Add("IsFinite", {g}));
      all_finite = all_finite.exists() ? body->Add("LogicalAnd", {all_finite, finite}) : finite;
    }
    body->If(
        all_finite,
        [&](Body* then) {
          std::vector<Expr> unscaled;
          for (const Expr& g : gradients) unscaled.push_back(g / Cast(scale, g.type()));
          Step(then, unscaled);
          const Expr grows = body->Add(
              "Equal", {count, body->Constant(rules_.loss_scaling->growth_steps - 1, DT_INT64)});
          then->If(
              grows,
              [&](Body* branch) {
                branch->Assign(state_.finite_steps, branch->Constant(0, DT_INT64));
                branch->Assign(state_.loss_scale, scale * 2);
              },
              [&](Body* branch) {
                branch->AssignAdd(state_.finite_steps, branch->Constant(1, DT_INT64));
              });
        },
        [&](Body* otherwise) {
          otherwise->Assign(state_.finite_steps, otherwise->Constant(0, DT_INT64));
          otherwise->Assign(state_.loss_scale, scale * 0.5);
        });
  }

 private:
  // A step with gradients of the loss itself.
  void Step(Body* body, const std::vector<Expr>& gradients) {
    const Expr iteration = body->Read(state_.iteration);
    const int steps = rules_.gradient_accumulation_steps;
    // Updates are counted, not the gradients that are added up for one.
    Expr count = iteration;
    if (steps == 1) {
      Update(body, gradients, iteration, count);
    } else {
      count = body->Add("FloorDiv", {iteration, body->Constant(steps, DT_INT64)});
      body->If(
          IsMultiple(iteration + 1, steps),
          [&](Body* branch) {
            std::vector<Expr> means;
            for (size_t k = 0; k < state_.parameters.size(); ++k) {
              means.push_back((gradients[k] + branch->Read(state_.parameters[k].accumulator)) /
                              steps);
            }
            Update(branch, means, iteration, count);
            for (size_t k = 0; k < state_.parameters.size(); ++k) {
              branch->Assign(state_.parameters[k].accumulator,
                             branch->Add("ZerosLike", {means[k]}));
            }
          },
          [&](Body* branch) {
            for (size_t k = 0; k < state_.parameters.size(); ++k) {
              branch->AssignAdd(state_.parameters[k].accumulator, gradients[k]);
            }
          });
    }
    if (rules_.use_ema) MoveAverages(body, count);
    body->AssignAdd(state_.iteration, body->Constant(1, DT_INT64));
  }

  void Update(Body* body, const std::vector<Expr>& gradients, const Expr& iteration,
              const Expr& count) {
    const Expr rate =
        rules_.schedule ? rules_.schedule(iteration) : body->Read(state_.learning_rate);
    std::vector<Expr> clipped = gradients;
    Clip(body, &clipped);
    Expr product;
    if (rules_.optimizer.product) {
      body->Assign(state_.product,
                   body->Read(state_.product) *
                       rules_.optimizer.product(Cast(count + 1, state_.product.type)));
      product = body->Read(state_.product);
    }
    for (size_t k = 0; k < state_.parameters.size(); ++k) {
      const Parameter& p = state_.parameters[k];
      const DataType type = p.whole.type;
      train::Update u{body,
                      p.rows,
                      p.slots,
                      clipped[k],
                      Cast(rate, type),
                      Cast(count + 1, type),
                      product.exists() ? Cast(product, type) : product,
                      rules_.fused && !p.rows.indices.exists()};
      if (rules_.weight_decay) {
        body->AssignSub(p.whole, body->Read(p.whole) * *rules_.weight_decay * u.learning_rate);
      }
      rules_.optimizer.update(u);
    }
  }

  void Clip(Body* body, std::vector<Expr>* gradients) {
    if (rules_.clipvalue && *rules_.clipvalue > 0) {
      for (Expr& g : *gradients) {
        g = Minimum(Maximum(g, body->Constant(-*rules_.clipvalue, g.type())),
                    body->Constant(*rules_.clipvalue, g.type()));
      }
    } else if (rules_.clipnorm && *rules_.clipnorm > 0) {
      for (Expr& g : *gradients) {
        const Expr norm = Sqrt(Sum(Square(g)));
        g = g * *rules_.clipnorm / Maximum(norm, body->Constant(*rules_.clipnorm, g.type()));
      }
    } else if (rules_.global_clipnorm && *rules_.global_clipnorm > 0 && !gradients->empty()) {
      const double limit = *rules_.global_clipnorm;
      bool has_double = false;
      for (const Expr& g : *gradients) has_double |= g.type() == DT_DOUBLE;
      const DataType type = has_double ? DT_DOUBLE : DT_FLOAT;
      Expr sum = body->Constant(0, type);
      for (const Expr& g : *gradients) sum = sum + Sum(Square(Cast(g, type)));
      const Expr norm = Sqrt(sum);
      // NaN if the norm is not finite.
      const Expr scale = Minimum(1 / norm, body->Constant(1 / limit, type)) * limit + (norm - norm);
      for (Expr& g : *gradients) g = g * Cast(scale, g.type());
    }
  }

  void MoveAverages(Body* body, const Expr& count) {
    const Expr is_later = body->Add("NotEqual", {count, body->Constant(0, DT_INT64)});
    for (const Parameter& p : state_.parameters) {
      const Expr momentum = Cast(is_later, p.whole.type) * rules_.ema_momentum;
      body->Assign(p.average,
                   momentum * body->Read(p.average) + (1 - momentum) * body->Read(p.whole));
    }
    if (rules_.ema_overwrite_frequency == 0) return;
    body->If(
        IsMultiple(count + 1, rules_.ema_overwrite_frequency),
        [&](Body* branch) {
          for (const Parameter& p : state_.parameters)
            branch->Assign(p.whole, branch->Read(p.average));
        },
        [](Body*) {});
  }

  const Rules& rules_;
  const StepState& state_;
};

}  // namespace

void WriteStep(const Rules& rules, const StepState& state, Body* body) {
  StepWriter(rules, state).Write(body);
}

}  // namespace tensorflow_ext::train
