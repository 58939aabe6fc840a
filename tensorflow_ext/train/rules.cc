#include "tensorflow_ext/train/rules.h"

#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tensorflow_ext::train {
namespace {

// A whole number that is `least` or more; 0 if the key is missing.
int Count(Config* c, const std::string& key, int least) {
  const std::optional<double> value = c->MaybeNumber(key);
  if (!value) return 0;
  c->Check(*value >= least && *value == std::floor(*value) && *value <= 1e9, key,
           least == 1 ? "an integer >= 1" : "an integer >= 2");
  return static_cast<int>(*value);
}

bool IsLossScaling(const Config& c) {
  return absl::EqualsIgnoreCase(c.class_name(), "LossScaleOptimizer");
}

absl::StatusOr<Rules> Read(Config c);

absl::StatusOr<Rules> ReadLossScaling(Config c) {
  LossScaling scaling;
  scaling.name = c.Text("name", "loss_scale_optimizer");
  scaling.initial_scale = c.Number("initial_scale", 32768);
  c.Check(scaling.initial_scale > 0, "initial_scale", "a number > 0");
  const int steps = Count(&c, "dynamic_growth_steps", 1);
  scaling.growth_steps = steps > 0 ? steps : 2000;
  const std::optional<Config> inner = c.MaybeObject("inner_optimizer");
  c.Check(inner && !IsLossScaling(*inner), "inner_optimizer",
          "another optimizer as Keras serializes it");
  // Keras writes those of the inner one here, too, with values that have no effect.
  for (const char* key : {"weight_decay", "clipnorm", "clipvalue", "global_clipnorm", "use_ema",
                          "ema_momentum", "ema_overwrite_frequency", "loss_scale_factor",
                          "gradient_accumulation_steps", "learning_rate"}) {
    c.Ignore(key);
  }
  TF_RETURN_IF_ERROR(c.Finish());
  TF_ASSIGN_OR_RETURN(Rules rules, Read(*inner));
  rules.loss_scaling = scaling;
  rules.loss_scale_factor = std::nullopt;
  return rules;
}

absl::StatusOr<Rules> Read(Config c) {
  if (IsLossScaling(c)) return ReadLossScaling(std::move(c));
  Rules rules;
  TF_ASSIGN_OR_RETURN(rules.optimizer, MakeOptimizer(&c));
  const std::string name = absl::AsciiStrToLower(c.class_name());
  // As Keras names them.
  rules.name = c.Text("name", name == "adamw" ? "adam_w" : name == "rmsprop" ? "rm_sprop" : name);
  if (std::optional<Config> schedule = c.MaybeObject("learning_rate")) {
    TF_ASSIGN_OR_RETURN(rules.schedule, MakeSchedule(&*schedule));
  } else {
    rules.learning_rate = c.Number("learning_rate", name == "sgd" ? 0.01 : 0.001);
  }
  rules.weight_decay = c.MaybeNumber("weight_decay");
  if (name == "adamw" && !rules.weight_decay) rules.weight_decay = 0.004;
  rules.clipnorm = c.MaybeNumber("clipnorm");
  rules.clipvalue = c.MaybeNumber("clipvalue");
  rules.global_clipnorm = c.MaybeNumber("global_clipnorm");
  c.Check(!!rules.clipnorm + !!rules.clipvalue + !!rules.global_clipnorm <= 1,
          rules.clipvalue ? "clipvalue" : "clipnorm",
          "the only one of clipnorm, clipvalue and global_clipnorm");
  rules.loss_scale_factor = c.MaybeNumber("loss_scale_factor");
  rules.use_ema = c.Flag("use_ema", false);
  rules.ema_momentum = c.Number("ema_momentum", 0.99);
  c.Check(rules.ema_momentum >= 0 && rules.ema_momentum <= 1, "ema_momentum", "a number in [0, 1]");
  rules.ema_overwrite_frequency = Count(&c, "ema_overwrite_frequency", 1);
  const int steps = Count(&c, "gradient_accumulation_steps", 2);
  if (steps > 0) rules.gradient_accumulation_steps = steps;
  rules.lazy = c.Flag("lazy", false);
  rules.fused = c.Flag("fused", true);
  TF_RETURN_IF_ERROR(c.Finish());
  return rules;
}

}  // namespace

absl::StatusOr<Rules> ReadRules(const std::string& optimizer) {
  TF_ASSIGN_OR_RETURN(Config config, Config::Parse("optimizer", optimizer));
  return Read(std::move(config));
}

}  // namespace tensorflow_ext::train
