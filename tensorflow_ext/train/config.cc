#include "tensorflow_ext/train/config.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/platform/human_readable_json.h"

namespace tensorflow_ext::train {

using google::protobuf::Value;

namespace {

std::string Json(const Value& value) {
  return tensorflow::ProtoToHumanReadableJson(value, /*ignore_accuracy_loss=*/true)
      .value_or("a number that is not finite");
}

}  // namespace

absl::StatusOr<Config> Config::Parse(const std::string& argument, const std::string& text) {
  const std::string trimmed(absl::StripAsciiWhitespace(text));
  if (trimmed.empty() || trimmed[0] != '{') {
    Config config;
    config.class_name_ = trimmed;
    return config;
  }
  Value value;
  const absl::Status status =
      tensorflow::HumanReadableJsonToProto(trimmed, value.mutable_struct_value());
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(argument, ": expected a name, or JSON as Keras serializes it, got ", trimmed,
                     ": ", status.message()));
  }
  return FromValue(argument, value);
}

absl::StatusOr<Config> Config::FromValue(const std::string& argument, const Value& value) {
  const auto& fields = value.struct_value().fields();
  const auto name = fields.find("class_name");
  const auto config = fields.find("config");
  if (name == fields.end() || name->second.kind_case() != Value::kStringValue ||
      (config != fields.end() && config->second.kind_case() != Value::kStructValue)) {
    return absl::InvalidArgumentError(
        absl::StrCat(argument, ": expected {\"class_name\": a string, \"config\": an object}, got ",
                     Json(value)));
  }
  Config result;
  result.class_name_ = name->second.string_value();
  if (config != fields.end()) result.config_ = config->second.struct_value();
  return result;
}

const Value* Config::Find(const std::string& key) {
  asked_.insert(key);
  const auto found = config_.fields().find(key);
  if (found == config_.fields().end() || found->second.kind_case() == Value::kNullValue) {
    return nullptr;
  }
  return &found->second;
}

void Config::Fail(const std::string& key, const std::string& expected) {
  if (!status_.ok()) return;
  const auto found = config_.fields().find(key);
  status_ = absl::InvalidArgumentError(
      absl::StrCat(class_name_, ": ", key, " must be ", expected, ", got ",
                   found == config_.fields().end() ? "nothing" : Json(found->second)));
}

void Config::Check(bool holds, const std::string& key, const std::string& expected) {
  if (!holds) Fail(key, expected);
}

std::optional<double> Config::MaybeNumber(const std::string& key) {
  const Value* value = Find(key);
  if (value == nullptr) return std::nullopt;
  Check(value->kind_case() == Value::kNumberValue, key, "a number");
  return value->number_value();
}

double Config::Number(const std::string& key, double otherwise) {
  return MaybeNumber(key).value_or(otherwise);
}

double Config::Required(const std::string& key) {
  const std::optional<double> value = MaybeNumber(key);
  Check(value.has_value(), key, "a number");
  return value.value_or(0);
}

bool Config::Flag(const std::string& key, bool otherwise) {
  const Value* value = Find(key);
  if (value == nullptr) return otherwise;
  Check(value->kind_case() == Value::kBoolValue, key, "true or false");
  return value->bool_value();
}

std::optional<Config> Config::MaybeObject(const std::string& key) {
  const Value* value = Find(key);
  if (value == nullptr || value->kind_case() != Value::kStructValue) return std::nullopt;
  absl::StatusOr<Config> object = FromValue(key, *value);
  if (object.ok()) return *std::move(object);
  if (status_.ok()) status_ = object.status();
  return std::nullopt;
}

std::string Config::Text(const std::string& key, const std::string& otherwise) {
  const Value* value = Find(key);
  if (value == nullptr) return otherwise;
  Check(value->kind_case() == Value::kStringValue, key, "a string");
  return value->string_value();
}

std::vector<double> Config::Numbers(const std::string& key) {
  std::vector<double> numbers;
  const Value* value = Find(key);
  Check(value != nullptr && value->kind_case() == Value::kListValue, key, "a list of numbers");
  if (value == nullptr) return numbers;
  for (const Value& one : value->list_value().values()) {
    Check(one.kind_case() == Value::kNumberValue, key, "a list of numbers");
    numbers.push_back(one.number_value());
  }
  return numbers;
}

std::optional<std::vector<double>> Config::MaybeNumbers(const std::string& key) {
  if (Find(key) == nullptr) return std::nullopt;
  return Numbers(key);
}

absl::Status Config::Finish() const {
  TF_RETURN_IF_ERROR(status_);
  for (const auto& [key, value] : config_.fields()) {
    if (asked_.count(key) == 0 && value.kind_case() != Value::kNullValue) {
      return absl::InvalidArgumentError(absl::StrCat(
          class_name_, " has no '", key, "'; expected one of: ", absl::StrJoin(asked_, ", ")));
    }
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext::train
