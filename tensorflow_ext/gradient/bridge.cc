// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/bridge.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/gradient/definition.h"
#include "tensorflow_ext/gradient/expand.h"
#include "tensorflow_ext/gradient/first_copy.h"
#include "tensorflow_ext/gradient/plan.h"

namespace tensorflow_ext {

using tensorflow::OpDef;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::ops::GradFunc;
using tensorflow::ops::GradOpRegistry;

namespace {

// The one gradient function of all ops: a GradFunc carries no data, so it finds
// the definition by the node's op. It must not call the C API: TF_AddGradients
// holds the graph's lock.
absl::Status Trampoline(const Scope& scope, const Operation& op,
                        const std::vector<Output>& upstream,
                        std::vector<Output>* gradients) {
  TF_ASSIGN_OR_RETURN(auto plan, FindPlan(op.node()->def()));
  return Expand(*plan, scope, op, upstream, gradients);
}

// All registered ops, those of this library included.
std::vector<std::string> RegisteredOps() {
  std::vector<OpDef> op_defs;
  tensorflow::OpRegistry::Global()->GetRegisteredOps(&op_defs);
  std::vector<std::string> names;
  names.reserve(op_defs.size());
  for (const OpDef& op_def : op_defs) names.push_back(op_def.name());
  return names;
}

// TensorFlow's client registry has no lock; this one keeps our own writers
// apart.
std::mutex& WriterMutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

// The gradients of this library in the client registry. Guarded by
// WriterMutex().
std::unordered_set<GradFunc>& OwnGradients() {
  static auto* gradients = new std::unordered_set<GradFunc>;
  return *gradients;
}

// Puts `function` into the client registry unless `op` has an entry there,
// which may be TensorFlow's own or another library's. Null: no gradient.
bool HandOver(const std::string& op, GradFunc function) {
  std::lock_guard<std::mutex> lock(WriterMutex());
  GradOpRegistry* registry = GradOpRegistry::Global();
  GradFunc existing;
  if (registry->Lookup(op, &existing).ok() ||
      !registry->Register(op, function)) {
    return false;
  }
  OwnGradients().insert(function);
  return true;
}

bool IsOwn(GradFunc function) {
  std::lock_guard<std::mutex> lock(WriterMutex());
  return OwnGradients().count(function) > 0;
}

}  // namespace

bool RegisterClientGradient(const char* op, GradFunc function) {
  return IsFirstCopy() && HandOver(op, function);
}

bool RegisterGradient(const char* op, GradientCreator creator) {
  if (!IsFirstCopy()) return false;
  HandOver(op, creator ? Trampoline : nullptr);
  if (FindFunctionGradient(op) == FunctionGradient::kUnknown) {
    return tensorflow::gradient::RegisterOp(op, std::move(creator));
  }
  SetDefinition(op, std::move(creator));
  return false;
}

int64_t RegisterGradients() {
  const std::vector<std::string> ops = OpsWithFunctionGradient();
  return std::count_if(ops.begin(), ops.end(), [](const std::string& op) {
    // Ops that only TensorFlow's runtime adds: no client differentiates them,
    // and the definition of _ArrayToList aborts the process.
    const bool is_internal = op[0] == '_';
    return !is_internal && HandOver(op, Trampoline);
  });
}

// The ops that had a function gradient before this library was loaded.
[[maybe_unused]] static const int64_t handed_over_at_load =
    IsFirstCopy() ? RegisterGradients() : 0;

std::vector<std::string> OpsWithFunctionGradient() {
  std::vector<std::string> ops = RegisteredOps();
  ops.erase(std::remove_if(ops.begin(), ops.end(),
                           [](const std::string& op) {
                             return FindFunctionGradient(op) !=
                                    FunctionGradient::kDefined;
                           }),
            ops.end());
  std::sort(ops.begin(), ops.end());
  return ops;
}

uint32_t GradientRegistries(const std::string& op) {
  uint32_t bits = 0;
  switch (FindFunctionGradient(op)) {
    case FunctionGradient::kDefined:
      bits |= TFEXT_FUNCTION_GRADIENT;
      break;
    case FunctionGradient::kNone:
      bits |= TFEXT_FUNCTION_NO_GRADIENT;
      break;
    case FunctionGradient::kUnknown:
      break;
  }
  GradFunc function;
  if (GradOpRegistry::Global()->Lookup(op, &function).ok()) {
    if (function == nullptr) return bits | TFEXT_CLIENT_NO_GRADIENT;
    bits |= TFEXT_CLIENT_GRADIENT;
    if (IsOwn(function)) bits |= TFEXT_CLIENT_BRIDGED;
  }
  return bits;
}

}  // namespace tensorflow_ext
