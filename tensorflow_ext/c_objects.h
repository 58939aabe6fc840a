// Owners of objects of TensorFlow's C API, for the headers of C++ clients.

#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"

namespace tensorflow_ext {
namespace c_objects_internal {

// A TF_Buffer.
class Buffer {
 public:
  TF_Buffer* get() const { return buffer_.get(); }
  absl::string_view text() const {
    return absl::string_view(static_cast<const char*>(buffer_->data), buffer_->length);
  }

 private:
  std::unique_ptr<TF_Buffer, decltype(&TF_DeleteBuffer)> buffer_{TF_NewBuffer(), TF_DeleteBuffer};
};

// A TF_Status.
class Status {
 public:
  TF_Status* get() const { return status_.get(); }
  absl::Status Get() const {
    return absl::Status(static_cast<absl::StatusCode>(TF_GetCode(status_.get())),
                        TF_Message(status_.get()));
  }

 private:
  std::unique_ptr<TF_Status, decltype(&TF_DeleteStatus)> status_{TF_NewStatus(), TF_DeleteStatus};
};

}  // namespace c_objects_internal
}  // namespace tensorflow_ext
