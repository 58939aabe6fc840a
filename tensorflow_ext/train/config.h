#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/struct.pb.h"

namespace tensorflow_ext::train {

// An object in the form that Keras serializes: {"class_name": ..., "config": {...}}. A key
// that is missing has its default. The first error is kept until Finish.
class Config {
 public:
  // Reads such an object, or the bare name of a class, whose config is then empty.
  // `argument`: what errors call it.
  static absl::StatusOr<Config> Parse(const std::string& argument, const std::string& text);

  const std::string& class_name() const { return class_name_; }

  double Number(const std::string& key, double otherwise);
  // A number that the class has no default for.
  double Required(const std::string& key);
  bool Flag(const std::string& key, bool otherwise);
  // Nothing if the key is missing or null.
  std::optional<double> MaybeNumber(const std::string& key);
  std::optional<Config> MaybeObject(const std::string& key);
  std::string Text(const std::string& key, const std::string& otherwise);
  std::vector<double> Numbers(const std::string& key);
  std::optional<std::vector<double>> MaybeNumbers(const std::string& key);
  // Allows the key.
  void Ignore(const std::string& key) { asked_.insert(key); }

  // Reports an error unless `holds`. `expected`: such as "a number in [0, 1]".
  void Check(bool holds, const std::string& key, const std::string& expected);

  // The first error; or one that names a key that nobody asked for and that is not null.
  absl::Status Finish() const;

 private:
  static absl::StatusOr<Config> FromValue(const std::string& argument,
                                          const google::protobuf::Value& value);
  const google::protobuf::Value* Find(const std::string& key);
  void Fail(const std::string& key, const std::string& expected);

  std::string class_name_;
  google::protobuf::Struct config_;
  std::set<std::string> asked_;
  absl::Status status_;
};

}  // namespace tensorflow_ext::train
