// Reads the serialized messages that the C interface takes.

#pragma once

#include <cstddef>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tensorflow_ext {

// Parses `bytes`, which may be null. Error: kInvalidArgument, `expected` (the argument and what it
// must be) and what was given, if that is no such message or `accepts` refuses it.
template <typename Message>
absl::StatusOr<Message> ParseMessage(
    const char* expected, const void* bytes, size_t length,
    bool (*accepts)(const Message&) = [](const Message&) { return true; }) {
  Message message;
  if (bytes != nullptr && length <= static_cast<size_t>(std::numeric_limits<int>::max()) &&
      message.ParseFromArray(bytes, static_cast<int>(length)) && accepts(message)) {
    return message;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(expected, ", got ",
                   bytes == nullptr ? "NULL" : absl::StrCat(length, " bytes of something else")));
}

}  // namespace tensorflow_ext
