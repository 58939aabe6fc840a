// An op library that registers many gradients by the functions behind TensorFlow's own macros,
// enough for the tables to grow several times.

#include <string>

#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow/core/framework/function.h"

namespace {

absl::Status NoGradient(const tensorflow::Scope&, const tensorflow::Operation&,
                        const std::vector<tensorflow::Output>&, std::vector<tensorflow::Output>*) {
  return absl::UnimplementedError("an op for tests");
}

bool RegisterMany() {
  for (int i = 0; i < 3000; ++i) {
    const std::string op = "Later" + std::to_string(i);
    tensorflow::ops::GradOpRegistry::Global()->Register(op, NoGradient);
    tensorflow::gradient::RegisterOp(op, nullptr);
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterMany();

}  // namespace
