#include "tensorflow_ext/gradient/c_api/c_api_internal.h"

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow_ext/base/parse_message.h"

namespace tensorflow_ext {

void SetStatus(TF_Status* status, const absl::Status& from) {
  // TF_Code and absl::StatusCode have the same numbers.
  TF_SetStatus(status, static_cast<TF_Code>(from.raw_code()), std::string(from.message()).c_str());
}

absl::Status ParseNodeDef(const void* bytes, size_t length, tensorflow::NodeDef* node) {
  TF_ASSIGN_OR_RETURN(
      *node, ParseMessage<tensorflow::NodeDef>(
                 "node_def: expected a serialized tensorflow.NodeDef that names an op", bytes,
                 length, [](const tensorflow::NodeDef& parsed) { return !parsed.op().empty(); }));
  return absl::OkStatus();
}

absl::Status CheckEmpty(const TF_Buffer* buffer) {
  if (buffer != nullptr && buffer->data == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("The buffer to write to is ",
                                                 buffer == nullptr ? "NULL" : "not empty",
                                                 "; make it with TF_NewBuffer"));
}

absl::Status CheckArray(const char* name, const void* array, int n) {
  if (n == 0 || (n > 0 && array != nullptr)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected an array of tensors and its length, got ",
                   array == nullptr ? "NULL" : "an array", " and ", n));
}

absl::StatusOr<bool> SumsRepeated(TfExt_RepeatedIndices repeated) {
  if (repeated == TFEXT_REPEATED_STAY || repeated == TFEXT_REPEATED_SUMMED) {
    return repeated == TFEXT_REPEATED_SUMMED;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("repeated: expected TFEXT_REPEATED_STAY or TFEXT_REPEATED_SUMMED, got ",
                   static_cast<int>(repeated)));
}

absl::Status CheckUnconnected(TfExt_Unconnected unconnected) {
  if (unconnected == TFEXT_UNCONNECTED_NONE || unconnected == TFEXT_UNCONNECTED_ZEROS) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unconnected: expected TFEXT_UNCONNECTED_NONE or TFEXT_UNCONNECTED_ZEROS, got ",
                   static_cast<int>(unconnected)));
}

std::vector<std::string> Lines(const char* text) {
  return absl::StrSplit(text == nullptr ? "" : text, '\n', absl::SkipEmpty());
}

absl::Status Write(const std::string& bytes, TF_Buffer* buffer) {
  const absl::Status empty = CheckEmpty(buffer);
  if (!empty.ok()) return empty;
  void* data = std::malloc(bytes.size() + 1);  // at least one byte, not NULL
  if (data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("Out of memory for a buffer of ", bytes.size(), " bytes"));
  }
  std::memcpy(data, bytes.data(), bytes.size());
  buffer->data = data;
  buffer->length = bytes.size();
  buffer->data_deallocator = [](void* memory, size_t) { std::free(memory); };
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
