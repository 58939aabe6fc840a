// Gradients that other libraries register over the C interface.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "tensorflow_ext/gradient/formula_api.h"
#include "tensorflow_ext/gradient/registry/function_registry.h"

namespace tensorflow_ext {

// See TfExt_RegisterGradient in c_api.h, which lists the errors.
absl::Status RegisterOtherGradient(const char* op, GradientCreator creator,
                                   TfExt_Precedence precedence);

// Logs a registration error that no caller receives, and keeps it for TakeRegistrationErrors.
// Returns it.
absl::Status KeepRegistrationError(absl::Status status);

// The errors since the last call, one per line.
std::string TakeRegistrationErrors();

}  // namespace tensorflow_ext
