#include "tensorflow_ext/gradient/bridge/client_registry.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/base/first_copy.h"
#include "tensorflow_ext/gradient/bridge/op_look_ups.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/gradient/define/node_attributes.h"
#include "tensorflow_ext/gradient/expand/expand.h"
#include "tensorflow_ext/gradient/expand/upstream.h"
#include "tensorflow_ext/gradient/functions/custom_gradients.h"
#include "tensorflow_ext/gradient/plan/plan.h"
#include "tensorflow_ext/gradient/registry/client_table.h"
#include "tensorflow_ext/gradient/registry/function_table.h"
#include "tensorflow_ext/gradient/registry/precedence.h"

namespace tensorflow_ext {

using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::ops::GradOpRegistry;

namespace {

absl::Status AddGradient(const Scope& scope, const Operation& op,
                         const std::vector<Output>& upstream, const Wanted& wanted,
                         std::vector<Output>* gradients) {
  // TensorFlow's callers do not catch exceptions.
  try {
    if (HasAttachedGradient(*op.node())) {
      return AddAttachedGradient(scope, op, WithoutZeros(scope, op, upstream), gradients);
    }
    TF_RETURN_IF_ERROR(CheckNamedGradient(*op.node()));
    TF_ASSIGN_OR_RETURN(auto plan, FindPlan(op.node()->def(), wanted));
    return Expand(*plan, scope, op, WithoutZeros(scope, op, upstream), gradients);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("In the gradient of ", op.node()->type_string(),
                                            ": a C++ exception: ", error.what()));
  } catch (...) {
    return absl::InternalError(
        absl::StrCat("In the gradient of ", op.node()->type_string(), ": a C++ exception"));
  }
}

// The client gradient of all ops with a function gradient. A ClientGradient carries no data, so it
// finds the definition by the node's op. It must not call the C API, because TF_AddGradients holds
// the graph's lock.
absl::Status Trampoline(const Scope& scope, const Operation& op,
                        const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  return AddGradient(scope, op, upstream, {}, gradients);
}

// The same for ops with a gradient of TensorFlow's.
absl::Status StandInTrampoline(const Scope& scope, const Operation& op,
                               const std::vector<Output>& upstream,
                               std::vector<Output>* gradients) {
  return AddGradient(scope, op, upstream, {/*inputs=*/{}, /*of_any_type=*/true}, gradients);
}

// TensorFlow's client gradients, null if an op has none. They do not see that a node names another
// gradient. Filled once, before the first entry leads to OfTensorFlow.
std::unordered_map<std::string, ClientGradient>& TensorFlowsGradients() {
  static auto* gradients = new std::unordered_map<std::string, ClientGradient>;
  return *gradients;
}

absl::Status OfTensorFlow(const Scope& scope, const Operation& op,
                          const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  TF_RETURN_IF_ERROR(CheckNamedGradient(*op.node()));
  return TensorFlowsGradients().at(op.node()->type_string())(scope, op, upstream, gradients);
}

absl::Status NoneOfTensorFlow(const Scope& /*scope*/, const Operation& op,
                              const std::vector<Output>& /*upstream*/,
                              std::vector<Output>* gradients) {
  TF_RETURN_IF_ERROR(CheckNamedGradient(*op.node()));
  gradients->assign(op.num_inputs(), tensorflow::NoGradient());
  return absl::OkStatus();
}

// TensorFlow's client registry has no lock; this one keeps our own writers apart. Readers need no
// lock: see ClientTable().
std::mutex& WriterMutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

// Replaces an entry that other threads may be reading.
void Store(ClientGradient gradient, ClientGradient* entry) {
  __atomic_store_n(entry, gradient, __ATOMIC_RELEASE);
}

// The gradients of this library in the client registry. Guarded by WriterMutex().
std::unordered_set<ClientGradient>& OwnGradients() {
  static auto* gradients = new std::unordered_set<ClientGradient>;
  return *gradients;
}

// Adds an entry unless `op` has one, which may be TensorFlow's or another library's. A null
// gradient means that the op has none. A library that adds to the table as another thread loads it
// does not take the lock. If both link into one bucket in the same nanoseconds, one entry is lost,
// and a client gets the error that the op has no gradient.
bool AddToClientRegistry(const std::string& op, ClientGradient gradient) {
  std::lock_guard<std::mutex> lock(WriterMutex());
  if (!ClientTable().emplace(op, gradient).second) return false;
  OwnGradients().insert(gradient);
  return true;
}

// AddSymbolicGradients makes zeros for some outputs of an op with several, unless its entry is
// null.
bool HasOneOutput(const std::string& op) {
  const tensorflow::OpDef* op_def = nullptr;
  return tensorflow::OpRegistry::Global()->LookUpOpDef(op, &op_def).ok() &&
         op_def->output_arg_size() == 1 && !IsList(op_def->output_arg(0));
}

// Makes the gradients of TensorFlow's that are left check for a named gradient.
void CheckInTensorFlows() {
  if (KeepsTensorFlows()) return;
  std::lock_guard<std::mutex> lock(WriterMutex());
  for (const auto& [op, gradient] : ClientTable()) {
    const bool replaced = gradient == nullptr
                              ? HasOneOutput(op)
                              : IsTensorFlows(reinterpret_cast<const void*>(gradient));
    if (replaced) TensorFlowsGradients()[op] = gradient;
  }
  for (const auto& [op, gradient] : TensorFlowsGradients()) {
    Store(gradient == nullptr ? NoneOfTensorFlow : OfTensorFlow, &ClientTable().at(op));
  }
}

bool IsOwn(ClientGradient gradient) {
  std::lock_guard<std::mutex> lock(WriterMutex());
  return OwnGradients().count(gradient) > 0;
}

// The ops whose TensorFlow entry was replaced. Guarded by WriterMutex().
std::unordered_set<std::string>& OpsStoodInFor() {
  static auto* ops = new std::unordered_set<std::string>;
  return *ops;
}

bool StandsIn(const std::string& op) {
  std::lock_guard<std::mutex> lock(WriterMutex());
  return OpsStoodInFor().count(op) > 0;
}

}  // namespace

bool RegisterClientGradient(const char* op, ClientGradient gradient) {
  return IsFirstCopy() && AddToClientRegistry(op, gradient);
}

bool StandIn(const char* op) { return StandIn(op, StandInTrampoline); }

bool StandIn(const char* op, ClientGradient gradient) {
  if (!IsFirstCopy() || KeepsTensorFlows()) return false;
  std::lock_guard<std::mutex> lock(WriterMutex());
  const auto entry = ClientTable().find(op);
  if (entry == ClientTable().end() ||
      !IsTensorFlows(reinterpret_cast<const void*>(entry->second))) {
    return false;
  }
  Store(gradient, &entry->second);
  OwnGradients().insert(gradient);
  OpsStoodInFor().insert(op);
  return true;
}

bool RegisterFunctionRuntimeGradient(const char* op, GradientCreator creator) {
  return IsFirstCopy() && AddToFunctionRuntime(op, std::move(creator));
}

bool RegisterGradient(const char* op, GradientCreator creator) {
  if (!IsFirstCopy()) return false;
  // The definition comes first, because Trampoline looks for it.
  const ClientGradient gradient = creator ? Trampoline : nullptr;
  const bool registered = AddToFunctionRegistry(op, std::move(creator));
  AddToClientRegistry(op, gradient);
  return registered;
}

void RegisterAskedFor(const std::string& op, GradientCreator creator) {
  AddToFunctionRegistryInstead(op, std::move(creator));
  std::lock_guard<std::mutex> lock(WriterMutex());
  ClientGradient& entry = ClientTable().emplace(op, Trampoline).first->second;
  // TensorFlow's own gradients of some ops differentiate integers.
  Store(IsTensorFlows(reinterpret_cast<const void*>(entry)) || entry == OfTensorFlow ||
                entry == StandInTrampoline
            ? StandInTrampoline
            : Trampoline,
        &entry);
  OwnGradients().insert(entry);
}

namespace {

// The ops that the function registry listed without a gradient at the first call. For an op of
// TensorFlow's this often means only that nobody has written one.
const std::vector<std::string>& NoneAtLoad() {
  static const auto* const ops = new std::vector<std::string>(OpsOfFunctionRegistry().none);
  return *ops;
}

// Hands the function registry's entry of `op` over to the client registry, if that has none.
// Returns true if the op gained a gradient.
bool HandOver(const std::string& op) {
  switch (FindFunctionGradient(op)) {
    case FunctionGradient::kDefined:
      return !IsForFunctionRuntime(op) && AddToClientRegistry(op, Trampoline);
    case FunctionGradient::kNone:
      if (!absl::c_binary_search(NoneAtLoad(), op)) AddToClientRegistry(op, nullptr);
      return false;
    case FunctionGradient::kUnknown:
      return false;
  }
  return false;
}

// Hands over the gradients of libraries that were loaded after this one. `op` has just been looked
// up, so its library may still be registering, and it gets its entry alone.
void HandOverLater(const std::string& op) {
  HandOverNew();
  ClientGradient gradient;
  if (op[0] != '_' && !GradOpRegistry::Global()->Lookup(op, &gradient).ok()) HandOver(op);
}

}  // namespace

int64_t RegisterGradients() {
  const OpsByFunctionGradient ops = OpsOfFunctionRegistry();
  absl::c_for_each(ops.none, HandOver);
  return absl::c_count_if(ops.defined, HandOver);
}

void HandOverNew() {
  static std::atomic<size_t> handed_over(0);
  const size_t registered = NumFunctionGradients();
  // Each look-up of an op comes here, from many threads, so it only reads unless there is something
  // new.
  if (handed_over.load(std::memory_order_relaxed) == registered) return;
  handed_over.store(registered, std::memory_order_relaxed);
  RegisterGradients();
}

// The ops that had a function gradient before this library was loaded. The linker puts this after
// stock_gradients, which depend on it. A thread that differentiates meanwhile therefore meets none
// of the definitions that these replace, some of which end the process.
[[maybe_unused]] static const bool handed_over_at_load = [] {
  if (!IsFirstCopy()) return false;
  NoneAtLoad();
  HandOverNew();
  CheckInTensorFlows();
  WatchOpLookUps(HandOverLater);
  return true;
}();

uint32_t GradientRegistries(const std::string& op) {
  uint32_t bits = 0;
  switch (FindFunctionGradient(op)) {
    case FunctionGradient::kDefined:
      bits |= TFEXT_FUNCTION_GRADIENT;
      if (IsForFunctionRuntime(op)) bits |= TFEXT_FUNCTION_RUNTIME_ALONE;
      break;
    case FunctionGradient::kNone:
      bits |= TFEXT_FUNCTION_NO_GRADIENT;
      break;
    case FunctionGradient::kUnknown:
      break;
  }
  if (HasOwnDefinition(op)) bits |= TFEXT_FUNCTION_OWN;
  if (StandsInFunctionRegistry(op)) bits |= TFEXT_FUNCTION_STANDS_IN;
  if (IsAskedFor(op)) bits |= TFEXT_GRADIENT_ASKED_FOR;
  ClientGradient gradient;
  if (GradOpRegistry::Global()->Lookup(op, &gradient).ok()) {
    if (gradient == nullptr || gradient == NoneOfTensorFlow) {
      return bits | TFEXT_CLIENT_NO_GRADIENT;
    }
    bits |= TFEXT_CLIENT_GRADIENT;
    if (IsOwn(gradient)) bits |= TFEXT_CLIENT_BRIDGED;
    if (StandsIn(op)) bits |= TFEXT_CLIENT_STANDS_IN;
  }
  return bits;
}

}  // namespace tensorflow_ext
