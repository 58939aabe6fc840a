// Registers this library's own formulas, which must not conflict with others: a second copy of the
// library registers nothing, and TensorFlow's own gradient stays unless a stand-in is registered.
// Other libraries register theirs by TFEXT_REGISTER_GRADIENT (formula/formula.h).

#pragma once

#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext {

// Registers `formula` as the gradient of `op`, as RegisterGradient of client_registry.h does.
bool RegisterFormula(const char* op, Formula formula);

// The same for an op with a client gradient in TensorFlow, which this one replaces (StandIn of
// client_registry.h).
bool RegisterStandIn(const char* op, Formula formula);

// The same only for the function registry (AddToFunctionRuntime of function_registry.h).
bool RegisterFunctionRuntimeFormula(const char* op, Formula formula);

#define REGISTER_GRADIENT(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__, ::tensorflow_ext::RegisterFormula(op, formula))
#define REGISTER_STAND_IN(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__, ::tensorflow_ext::RegisterStandIn(op, formula))
#define REGISTER_FUNCTION_RUNTIME_GRADIENT(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__, ::tensorflow_ext::RegisterFunctionRuntimeFormula(op, formula))

}  // namespace tensorflow_ext
