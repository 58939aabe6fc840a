// Helpers of the functions of c_api.h.

#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow_ext/gradient/c_api.h"

namespace tensorflow_ext {

// Owns an object that a C function made.
template <typename T, void (*destroy)(T*)>
struct Deleter {
  void operator()(T* t) const { destroy(t); }
};
template <typename T, void (*destroy)(T*)>
using Owned = std::unique_ptr<T, Deleter<T, destroy>>;

void SetStatus(TF_Status* status, const absl::Status& from);

// The NodeDef that TfExt_ functions take.
absl::Status ParseNodeDef(const void* bytes, size_t length, tensorflow::NodeDef* node);

// Refuses a buffer that Write cannot write to.
absl::Status CheckEmpty(const TF_Buffer* buffer);

// Refuses an array argument `name` that cannot have `n` elements.
absl::Status CheckArray(const char* name, const void* array, int n);

absl::Status CheckUnconnected(TfExt_Unconnected unconnected);

// True if rows of equal indices are added up.
absl::StatusOr<bool> SumsRepeated(TfExt_RepeatedIndices repeated);

// The lines that are not empty. NULL has none.
std::vector<std::string> Lines(const char* text);

// Gives `bytes` to `buffer`, which must be empty.
absl::Status Write(const std::string& bytes, TF_Buffer* buffer);

// Runs `body`, which returns a status, and catches all exceptions.
template <typename Body>
void Guarded(TF_Status* status, Body body) {
  try {
    SetStatus(status, body());
  } catch (const std::exception& error) {
    SetStatus(status, absl::InternalError(error.what()));
  } catch (...) {
    SetStatus(status, absl::InternalError("an unknown C++ exception"));
  }
}

}  // namespace tensorflow_ext
