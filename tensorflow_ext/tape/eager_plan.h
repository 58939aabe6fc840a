// The gradient of an eager op as a list of eager ops. The client registry's gradient writes it into
// a graph of one node, so eager mode has the same gradients as graphs, with what is known of shapes
// already computed.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/common_runtime/eager/attr_builder.h"
#include "tensorflow/core/common_runtime/eager/context.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"
#include "tensorflow/core/common_runtime/eager/tensor_handle.h"
#include "tensorflow/core/platform/refcount.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

using HandlePtr = tensorflow::core::RefCountPtr<tensorflow::TensorHandle>;

inline HandlePtr NewRef(tensorflow::TensorHandle* handle) {
  handle->Ref();
  return HandlePtr(handle);
}

// Where a step's input comes from. `index`: of the op's input, output or upstream gradient, of the
// step, or of the constant. `output`: of the step.
struct EagerSource {
  enum Kind { kInput, kOutput, kUpstream, kStep, kConstant } kind;
  int index;
  int output = 0;
};

// An op to run.
struct EagerStep {
  tensorflow::AttrBuilder attrs;
  std::string device;
  std::vector<EagerSource> inputs;
  int num_outputs;
  // Steps whose outputs no later step and no result needs.
  std::vector<int> last_uses;
};

// A gradient by the rows that were gathered.
struct EagerRows {
  EagerSource values, indices, num_rows;
};

struct EagerPlan {
  std::vector<EagerStep> steps;
  // Those of all steps.
  std::vector<HandlePtr> constants;
  // The gradient of each input; nothing if it has none.
  std::vector<std::optional<EagerSource>> results;
  bool has_results = false;
  // For each input, the rows of its gradient if only these are not zero.
  std::vector<std::optional<EagerRows>> rows;
  // The tensors that the steps take, each once: inputs and outputs of the op (kInput, kOutput), and
  // the upstream gradients.
  std::vector<EagerSource> kept;
  std::vector<bool> uses_upstream;
  // If the gradient needs more of what the op computes: steps that run in its place. The last one
  // is the op, which returns more outputs.
  std::vector<EagerStep> forward;
  // The first is the gradient if an output that only `forward` returns has an upstream gradient,
  // too: in second order, because the first one took that output. The next is for third order. All
  // share `kept`.
  std::vector<std::shared_ptr<const EagerPlan>> further;
  absl::Status further_error;
};

// The plan for `op`, which has not run yet. `wanted`: for each input, 1 if its gradient is wanted.
// `orders`: how often the op may be differentiated. In an asynchronous context the shapes of inputs
// are not waited for.
//
// Plans are kept. Each belongs to an op, its attributes, its device, the shapes of its inputs and
// the values of its small integer inputs. An op that meets too many different values gets one plan,
// which computes them at run time. Thread-safe. Errors: kNotFound, the op has no gradient;
// otherwise those of its gradient.
absl::StatusOr<std::shared_ptr<const EagerPlan>> FindEagerPlan(tensorflow::EagerOperation* op,
                                                               const std::vector<bool>& wanted,
                                                               int orders);

}  // namespace tensorflow_ext
