#include "tensorflow_ext/gradient/bridge/register_formula.h"

#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/define/formula_body.h"

namespace tensorflow_ext {

namespace {

GradientCreator CreatorOf(const char* op, Formula formula) {
  return CreatorOfFormula(op, WriteFormula, reinterpret_cast<void*>(formula));
}

}  // namespace

bool RegisterFormula(const char* op, Formula formula) {
  return RegisterGradient(op, CreatorOf(op, formula));
}

bool RegisterFunctionRuntimeFormula(const char* op, Formula formula) {
  return RegisterFunctionRuntimeGradient(op, CreatorOf(op, formula));
}

bool RegisterStandIn(const char* op, Formula formula) {
  RegisterFormula(op, formula);
  return StandIn(op);
}

}  // namespace tensorflow_ext
