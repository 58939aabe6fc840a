#include "tensorflow_ext/tape/eager_plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_encode_decode.h"
#include "tensorflow/core/framework/variant_tensor_data.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/tape/planner.h"

namespace tensorflow_ext {

using tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::EagerContext;
using tensorflow::EagerOperation;
using tensorflow::NodeDef;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorHandle;
using tensorflow::TensorShape;

namespace {

// Inputs of up to so many integers may be shapes, axes or sizes.
constexpr int kFewElements = 16;

// The op as a node without inputs.
NodeDef ToNodeDef(EagerOperation* op) {
  NodeDef node;
  node.set_name("forward");
  node.set_op(op->Name());
  node.set_device(op->DeviceName());
  op->Attrs().FillAttrValueMap(node.mutable_attr());
  return node;
}

// A function that runs as an op becomes a call.
absl::Status ToCall(const EagerOperation& op, const std::vector<EagerInput>& inputs,
                    NodeDef* node) {
  const auto* function = op.GetFunctionDef();
  if (function == nullptr) {
    return absl::NotFoundError(absl::StrCat("no function '", op.Name(), "' in the context"));
  }
  AttrValue called;
  called.mutable_func()->set_name(op.Name());
  *called.mutable_func()->mutable_attr() = node->attr();
  node->clear_attr();
  node->set_op(function->signature().is_stateful() ? "StatefulPartitionedCall" : "PartitionedCall");
  (*node->mutable_attr())["f"] = called;
  auto* types = (*node->mutable_attr())["Tin"].mutable_list();
  for (const EagerInput& input : inputs) types->add_type(input.dtype);
  auto* outputs = (*node->mutable_attr())["Tout"].mutable_list();
  tensorflow::DataTypeVector output_types;
  TF_RETURN_IF_ERROR(tensorflow::OutputTypesForNode(tensorflow::AttrSlice(&called.func().attr()),
                                                    function->signature(), &output_types));
  for (const DataType type : output_types) outputs->add_type(type);
  return absl::OkStatus();
}

// As long as a record exists, no other one has its address.
using CalledFunctions = std::vector<tensorflow::core::RefCountPtr<tensorflow::FunctionRecord>>;

// The functions that the op is, or that its attributes name.
CalledFunctions FindFunctions(const EagerOperation& op) {
  CalledFunctions functions;
  const auto find = [&](const std::string& name) {
    functions.push_back(op.EagerContext().FindRecord(name));
  };
  if (op.is_function()) find(op.Name());
  tensorflow::AttrValueMap attrs;
  op.Attrs().FillAttrValueMap(&attrs);
  for (const auto& [name, value] : std::map<std::string, AttrValue>(attrs.begin(), attrs.end())) {
    if (value.has_func()) find(value.func().name());
    for (const auto& function : value.list().func()) find(function.name());
  }
  return functions;
}

bool HasFunctions(const EagerOperation& op) {
  if (op.is_function()) return true;
  const tensorflow::OpDef* def = op.OpDef();
  if (def == nullptr && !tensorflow::OpDefForOp(op.Name(), &def).ok()) return false;
  for (const auto& attr : def->attr()) {
    if (attr.type() == "func" || attr.type() == "list(func)") return true;
  }
  // The gradient that a model attached is an attribute which the definition of the op lacks.
  return op.Name() == "IdentityN" && !FindFunctions(op).empty();
}

bool AreSame(const CalledFunctions& a, const CalledFunctions& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.get() == y.get(); });
}

using Signature = std::vector<int64_t>;

// The plans of an op with its attributes and device.
struct PlansOfOp {
  std::map<Signature, std::shared_ptr<const EagerPlan>> plans;
  // How much a plan may assume: 2, shapes and values; 1, shapes; 0, nothing.
  int level = 2;
  // The functions that the op calls. In another context, or later, another one may have the name.
  CalledFunctions functions;
};

// So many ops are kept: a program may change an attribute in every step.
constexpr size_t kMostOps = 1000;

// So many plans of one op with different values or shapes are kept.
constexpr size_t kMostPlans = 64;

struct Key {
  tensorflow::Fprint128 fingerprint;
  EagerContext* context;
  bool operator==(const Key& other) const {
    return fingerprint == other.fingerprint && context == other.context;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Key& key) {
    return H::combine(std::move(h), key.fingerprint.low64, key.fingerprint.high64, key.context);
  }
};

struct Cache {
  std::mutex mutex;
  absl::flat_hash_map<Key, std::unique_ptr<PlansOfOp>> ops;
};

Cache& GetCache() {
  static auto* const cache = new Cache;
  return *cache;
}

// Finds the type and the rank of a sparse matrix in a variant.
void FindMatrix(TensorHandle* handle, EagerInput* input) {
  const Tensor* value;
  if (input->dtype != tensorflow::DT_VARIANT || handle->Type() != TensorHandle::LOCAL ||
      !handle->Tensor(&value).ok() || value->dims() != 0) {
    return;
  }
  const auto& variant = value->scalar<tensorflow::Variant>()();
  if (variant.TypeName() != "tensorflow::CSRSparseMatrix") return;
  // Its shape comes first, its numbers last. The tensors share their memory with the matrix.
  tensorflow::VariantTensorData data;
  variant.Encode(&data);
  const std::vector<int64_t> sizes(data.tensors().front().NumElements(), -1);
  input->held_type = data.tensors().back().dtype();
  input->held_shape = PartialTensorShape(sizes);
}

// Finds the type and the shape of a variable by its handle.
void FindVariable(TensorHandle* handle, EagerInput* input) {
  std::vector<tensorflow::DtypeAndPartialTensorShape> variable;
  if (input->dtype != tensorflow::DT_RESOURCE || handle->Type() != TensorHandle::LOCAL ||
      !handle->GetResourceHandleDtypesAndShapes(&variable).ok() || variable.size() != 1) {
    return;
  }
  input->held_type = variable[0].dtype;
  input->held_shape = variable[0].shape;
}

std::vector<EagerInput> WhatIsKnown(const EagerOperation& op, int level, bool has_functions) {
  std::vector<EagerInput> inputs;
  const bool waits = const_cast<EagerOperation&>(op).Executor().Async();
  for (tensorflow::ImmediateExecutionTensorHandle* handle : op.Inputs()) {
    EagerInput input{handle->DataType()};
    auto* const tensor = tensorflow::TensorHandleFromInterface(handle);
    TensorShape shape;
    if (!waits) FindMatrix(tensor, &input);
    if (!waits && has_functions) FindVariable(tensor, &input);
    if (level > 0 && !waits && tensor->Type() == TensorHandle::LOCAL &&
        tensor->Shape(&shape).ok()) {
      input.shape = shape;
      const Tensor* value;
      if (level > 1 && tensorflow::DataTypeIsInteger(input.dtype) &&
          shape.num_elements() <= kFewElements && shape.dims() < 2 && tensor->device() == nullptr &&
          tensor->Tensor(&value).ok()) {
        input.value = *value;
      }
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Signature SignatureOf(const std::vector<EagerInput>& inputs, const std::vector<bool>& wanted,
                      int orders) {
  Signature signature = {orders};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const EagerInput& input = inputs[i];
    signature.push_back(input.shape.dims() * 4 + (input.value ? 2 : 0) + wanted[i]);
    signature.push_back(input.held_type);
    signature.push_back(input.held_shape.dims());
    // An unknown rank is -1, so no iterator: it would not end.
    for (int d = 0; d < input.held_shape.dims(); ++d) {
      signature.push_back(input.held_shape.dim_size(d));
    }
    for (int d = 0; d < input.shape.dims(); ++d) signature.push_back(input.shape.dim_size(d));
    if (!input.value) continue;
    const absl::string_view bytes = input.value->tensor_data();
    for (size_t k = 0; k < bytes.size(); k += sizeof(int64_t)) {
      int64_t word = 0;
      std::memcpy(&word, bytes.data() + k, std::min(sizeof word, bytes.size() - k));
      signature.push_back(word);
    }
  }
  return signature;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const EagerPlan>> FindEagerPlan(EagerOperation* op,
                                                               const std::vector<bool>& wanted,
                                                               int orders) {
  const bool has_functions = HasFunctions(*op);
  if (!has_functions) orders = 1;  // Only calls return more for their gradients.
  EagerContext* const context = &op->EagerContext();
  const Key key{op->MutableAttrs()->CacheKey(op->DeviceName()), has_functions ? context : nullptr};
  CalledFunctions functions = has_functions ? FindFunctions(*op) : CalledFunctions();
  Cache& cache = GetCache();
  int level = 2;
  {
    const std::lock_guard<std::mutex> lock(cache.mutex);
    const auto found = cache.ops.find(key);
    if (found != cache.ops.end()) level = found->second->level;
  }
  const std::vector<EagerInput> inputs = WhatIsKnown(*op, level, has_functions);
  const Signature signature = SignatureOf(inputs, wanted, orders);
  {
    const std::lock_guard<std::mutex> lock(cache.mutex);
    if (cache.ops.size() >= kMostOps && cache.ops.count(key) == 0) cache.ops.clear();
    std::unique_ptr<PlansOfOp>& of_op = cache.ops[key];
    if (of_op == nullptr || !AreSame(of_op->functions, functions)) {
      of_op = std::make_unique<PlansOfOp>();
      of_op->functions = std::move(functions);
    }
    const auto plan = of_op->plans.find(signature);
    if (plan != of_op->plans.end()) return plan->second;
  }
  HandOverNew();
  NodeDef forward = ToNodeDef(op);
  if (op->is_function()) TF_RETURN_IF_ERROR(ToCall(*op, inputs, &forward));
  auto made = MakeEagerPlan(context, forward, inputs, has_functions, wanted, orders);
  if (!made.ok() && !absl::IsNotFound(made.status())) {
    // Some shape functions refuse what kernels take: those of Range and RFFTND.
    auto again = MakeEagerPlan(context, forward, WhatIsKnown(*op, 0, has_functions), has_functions,
                               wanted, orders);
    if (again.ok()) made = std::move(again);
  }
  if (!made.ok()) return made.status();
  const std::shared_ptr<const EagerPlan> plan = *made;
  const std::lock_guard<std::mutex> lock(cache.mutex);
  const auto of_op = cache.ops.find(key);
  if (of_op != cache.ops.end()) {
    PlansOfOp& plans = *of_op->second;
    plans.plans.emplace(signature, plan);
    if (plans.plans.size() > kMostPlans && plans.level > 0) {
      plans.plans.clear();
      --plans.level;
    }
  }
  return plan;
}

}  // namespace tensorflow_ext
