// REGISTER_OP_GRADIENT for libraries of op authors, with the same arguments:
//
//   absl::Status SquareplusGradient(const AttrSlice& attrs, FunctionDef* g) {
//     *g = FunctionDefHelper::Define(...);
//     return absl::OkStatus();
//   }
//   TFEXT_REGISTER_OP_GRADIENT("Your>Squareplus", SquareplusGradient);
//
// TensorFlow's macro ends the process if the op already has a gradient, and a later version of
// TensorFlow or of this library may add one. This macro checks first. A conflict is then an error
// that the program loading the library can read (TfExt_TakeRegistrationErrors).
// TFEXT_REGISTER_OP_STAND_IN replaces the other gradient in every client instead. C, C++, Go, Rust
// and Java also differentiate by TensorFlow's macro, whichever library was loaded first.
//
// Public: needs TensorFlow's headers, and libtensorflow_ext.so at link time.

#pragma once

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "absl/status/status.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow_ext/gradient/c_api.h"

namespace tensorflow_ext {

// Writes a gradient, like tensorflow::gradient::Creator.
using OpGradient = absl::Status (*)(const tensorflow::AttrSlice&, tensorflow::FunctionDef*);

namespace internal {

// Runs an OpGradient; an exception becomes its error.
inline absl::Status RunOpGradient(void* op_gradient, const tensorflow::NodeDef& node,
                                  tensorflow::FunctionDef* function) {
  try {
    return reinterpret_cast<OpGradient>(op_gradient)(tensorflow::AttrSlice(node), function);
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(std::string("its creator throws: ") + error.what());
  } catch (...) {
    return absl::FailedPreconditionError(
        "its creator throws something that is not a std::exception");
  }
}

// The TfExt_GradientCreator of all OpGradients.
inline void CreateOverC(const void* node_def, size_t node_def_length, void* op_gradient,
                        TF_Buffer* function_def, TF_Status* status) {
  tensorflow::NodeDef node;
  tensorflow::FunctionDef function;
  node.ParseFromArray(node_def, static_cast<int>(node_def_length));
  const absl::Status created = RunOpGradient(op_gradient, node, &function);
  if (!created.ok()) {
    TF_SetStatus(status, static_cast<TF_Code>(created.raw_code()),
                 std::string(created.message()).c_str());
    return;
  }
  const std::string bytes = function.SerializeAsString();
  void* const data = std::malloc(bytes.size() + 1);
  std::memcpy(data, bytes.data(), bytes.size());
  function_def->data = data;
  function_def->length = bytes.size();
  function_def->data_deallocator = [](void* memory, size_t) { std::free(memory); };
}

}  // namespace internal

#define TFEXT_REGISTER_OP_GRADIENT(op, creator) \
  TFEXT_REGISTER_OP_GRADIENT_AT(__COUNTER__, op, creator, TFEXT_GRADIENT_NEW)
#define TFEXT_REGISTER_OP_STAND_IN(op, creator) \
  TFEXT_REGISTER_OP_GRADIENT_AT(__COUNTER__, op, creator, TFEXT_GRADIENT_INSTEAD)
#define TFEXT_REGISTER_OP_GRADIENT_AT(counter, op, creator, precedence) \
  TFEXT_REGISTER_OP_GRADIENT_UNIQUE(counter, op, creator, precedence)
#define TFEXT_REGISTER_OP_GRADIENT_UNIQUE(counter, op, creator, precedence)            \
  [[maybe_unused]] static const bool tfext_op_gradient_##counter =                     \
      TfExt_RegisterGradientAtLoad(                                                    \
          op, ::tensorflow_ext::internal::CreateOverC,                                 \
          reinterpret_cast<void*>(static_cast<::tensorflow_ext::OpGradient>(creator)), \
          precedence) != 0

}  // namespace tensorflow_ext
