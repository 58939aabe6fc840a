// SPDX-License-Identifier: Apache-2.0
//
// Registers the formulas of this library itself, which are not to be in the way
// of anybody: a second copy of it registers nothing, and TensorFlow's own
// gradient stays where no other is asked for. Other libraries register theirs
// by TFEXT_REGISTER_GRADIENT (formula/formula.h).

#ifndef TENSORFLOW_EXT_GRADIENT_BRIDGE_REGISTER_FORMULA_H_
#define TENSORFLOW_EXT_GRADIENT_BRIDGE_REGISTER_FORMULA_H_

#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext {

// Registers `formula` as the gradient of `op`, as RegisterGradient of
// client_registry.h does.
bool RegisterFormula(const char* op, Formula formula);

// The same for an op with a client gradient of TensorFlow's own, for which this
// one then stands in (StandIn of client_registry.h).
bool RegisterStandIn(const char* op, Formula formula);

// The same for the function registry alone (AddToFunctionRuntime of
// function_registry.h).
bool RegisterFunctionRuntimeFormula(const char* op, Formula formula);

#define REGISTER_GRADIENT(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__, ::tensorflow_ext::RegisterFormula(op, formula))
#define REGISTER_STAND_IN(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__, ::tensorflow_ext::RegisterStandIn(op, formula))
#define REGISTER_FUNCTION_RUNTIME_GRADIENT(op, formula) \
  TFEXT_AT_LOAD(__COUNTER__,                            \
                ::tensorflow_ext::RegisterFunctionRuntimeFormula(op, formula))

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_BRIDGE_REGISTER_FORMULA_H_
