#include "tensorflow_ext/train/schedules.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorflow_ext::train {
namespace {

using tensorflow::DT_FLOAT;
using tensorflow::DT_INT64;

constexpr double kPi = 3.14159265358979323846;

Expr Float(const Expr& like, double value) { return like.body->Constant(value, DT_FLOAT); }
Expr Floor(const Expr& x) { return x.body->Add("Floor", {x}); }
Expr Cos(const Expr& x) { return x.body->Add("Cos", {x}); }
Expr Select(const Expr& condition, const Expr& x, const Expr& y) {
  return x.body->Add("SelectV2", {condition, x, y});
}

double Positive(Config* c, const char* key) {
  const double value = c->Required(key);
  c->Check(value > 0, key, "a number > 0");
  return value;
}

// The number of periods of `steps` until the iteration; whole ones if `staircase`.
Expr Periods(const Expr& iteration, double steps, bool staircase) {
  const Expr periods = Cast(iteration, DT_FLOAT) / steps;
  return staircase ? Floor(periods) : periods;
}

Schedule ExponentialDecay(Config* c) {
  const double initial = c->Required("initial_learning_rate"), steps = Positive(c, "decay_steps"),
               rate = c->Required("decay_rate");
  const bool staircase = c->Flag("staircase", false);
  return [=](const Expr& i) { return Pow(rate, Periods(i, steps, staircase)) * initial; };
}

Schedule InverseTimeDecay(Config* c) {
  const double initial = c->Required("initial_learning_rate"), steps = Positive(c, "decay_steps"),
               rate = c->Required("decay_rate");
  const bool staircase = c->Flag("staircase", false);
  return [=](const Expr& i) { return initial / (Periods(i, steps, staircase) * rate + 1); };
}

Schedule PiecewiseConstantDecay(Config* c) {
  const std::vector<double> boundaries = c->Numbers("boundaries"), values = c->Numbers("values");
  c->Check(!boundaries.empty() && boundaries.size() + 1 == values.size(), "values",
           "a list with one element more than boundaries, which is not empty");
  return [=](const Expr& i) {
    Expr rate = Float(i, values.back());
    for (size_t k = boundaries.size(); k-- > 0;) {
      const Expr until =
          i.body->Add("LessEqual", {i, Cast(i.body->Constant(boundaries[k], DT_INT64), DT_INT64)});
      rate = Select(until, Float(i, values[k]), rate);
    }
    return rate;
  };
}

Schedule PolynomialDecay(Config* c) {
  const double initial = c->Required("initial_learning_rate"), steps = Positive(c, "decay_steps"),
               end = c->Number("end_learning_rate", 0.0001), power = c->Number("power", 1);
  const bool cycle = c->Flag("cycle", false);
  return [=](const Expr& i) {
    const Expr step = Cast(i, DT_FLOAT), one = Float(i, 1);
    // With `cycle`, the first multiple of decay_steps that is not smaller than the step.
    const Expr last =
        cycle ? Maximum(i.body->Add("Ceil", {step / steps}), one) * steps : Float(i, steps);
    const Expr left = 1 - (cycle ? step : Minimum(step, last)) / last;
    return Pow(left, power) * (initial - end) + end;
  };
}

Schedule CosineDecay(Config* c) {
  const double initial = c->Required("initial_learning_rate"), steps = Positive(c, "decay_steps"),
               alpha = c->Number("alpha", 0), warmup_steps = c->Number("warmup_steps", 0);
  const std::optional<double> target = c->MaybeNumber("warmup_target");
  c->Check(!target || warmup_steps >= 0, "warmup_steps", "a number >= 0");
  return [=](const Expr& i) {
    const double first = target ? warmup_steps : 0, from = target.value_or(initial);
    const Expr step = Minimum(Cast(i, DT_FLOAT), Float(i, steps + first));
    const Expr cosine = (Cos((step - first) / steps * kPi) + 1) * 0.5;
    const Expr decayed = (cosine * (1 - alpha) + alpha) * from;
    if (!target || first == 0) return decayed;
    const Expr warming = step / first * (*target - initial) + initial;
    return Select(i.body->Add("Less", {step, Float(i, first)}), warming, decayed);
  };
}

Schedule CosineDecayRestarts(Config* c) {
  const double initial = c->Required("initial_learning_rate"),
               steps = Positive(c, "first_decay_steps"), t_mul = c->Number("t_mul", 2),
               m_mul = c->Number("m_mul", 1), alpha = c->Number("alpha", 0);
  return [=](const Expr& i) {
    const Expr completed = Cast(i, DT_FLOAT) / steps;
    // The number of restarts until now, and the share that is done of the current period.
    Expr restarts, share;
    if (t_mul == 1) {
      restarts = Floor(completed);
      share = completed - restarts;
    } else {
      const auto log = [](const Expr& x) { return x.body->Add("Log", {x}); };
      restarts = Floor(log(1 - completed * (1 - t_mul)) / log(Float(i, t_mul)));
      const Expr passed = (1 - Pow(t_mul, restarts)) / (1 - t_mul);
      share = (completed - passed) / Pow(t_mul, restarts);
    }
    const Expr cosine = Pow(m_mul, restarts) * 0.5 * (Cos(share * kPi) + 1);
    return (cosine * (1 - alpha) + alpha) * initial;
  };
}

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(Config* config) {
  static const auto* const makers = new std::map<std::string, Schedule (*)(Config*)>{
      {"CosineDecay", CosineDecay},           {"CosineDecayRestarts", CosineDecayRestarts},
      {"ExponentialDecay", ExponentialDecay}, {"InverseTimeDecay", InverseTimeDecay},
      {"PolynomialDecay", PolynomialDecay},   {"PiecewiseConstantDecay", PiecewiseConstantDecay},
  };
  const auto found = makers->find(config->class_name());
  if (found == makers->end()) {
    std::vector<std::string> names;
    for (const auto& maker : *makers) names.push_back(maker.first);
    return absl::InvalidArgumentError(absl::StrCat("learning_rate: expected a number or one of ",
                                                   absl::StrJoin(names, ", "), ", got '",
                                                   config->class_name(), "'"));
  }
  config->Text("name", "");
  Schedule schedule = found->second(config);
  TF_RETURN_IF_ERROR(config->Finish());
  return schedule;
}

}  // namespace tensorflow_ext::train
