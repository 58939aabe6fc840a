// SPDX-License-Identifier: Apache-2.0
//
// From a checked definition to what a client has to run.

#ifndef TENSORFLOW_EXT_GRADIENT_PLAN_PLAN_H_
#define TENSORFLOW_EXT_GRADIENT_PLAN_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/types.pb.h"

namespace tensorflow_ext {

struct Definition;
struct Forward;

// Where a tensor of the plan comes from.
struct Source {
  enum Kind {
    kInput,     // input `index` of the forward op
    kUpstream,  // upstream gradient of output `index` of the forward op
    kOutput,    // output `index` of the forward op
    kStep,      // output `output` of step `index`
  };
  Kind kind;
  int index;
  int output = 0;
};

// One op to run.
struct Step {
  const tensorflow::OpDef* op_def;
  // Name, op, device and all attributes; no inputs.
  tensorflow::NodeDef node;
  std::vector<Source> inputs;
  // How many of `inputs` each argument of the OpDef takes: -1 for an argument
  // that is no list.
  std::vector<int> argument_sizes;
  // Steps that have to run first.
  std::vector<int> control_inputs;
};

// What to run for the gradient of an op with given attributes: steps in an
// order in which each follows its inputs, and for each input of the op
// (flattened) where its gradient comes from, if it has one.
struct Plan {
  int num_inputs = 0;
  int num_outputs = 0;
  std::vector<Step> steps;
  std::vector<std::optional<Source>> results;
};

// Whether a tensor of this type can have a gradient at all: it is floating,
// complex, a resource or a variant.
bool IsDifferentiable(tensorflow::DataType type);

// In `wanted` below, that the gradient of an input is asked for whatever its
// type is: TensorFlow's own client gradients differentiate integers, too.
constexpr uint8_t kWantedOfAnyType = 2;

// Whether input `i` of the op can have a gradient and it is asked for: `wanted`
// is empty or says so.
bool IsWanted(const Forward& forward, absl::Span<const uint8_t> wanted, int i);

// The plan of a definition. `wanted` says for each input of the op whether its
// gradient is asked for; empty asks for all. Nodes that would run the forward
// op again are replaced by its outputs; nodes that feed no gradient that is
// wanted and possible are left out.
// Errors: kFailedPrecondition, a node depends on itself.
absl::StatusOr<Plan> MakePlan(const Definition& definition,
                              absl::Span<const uint8_t> wanted);

// The plan for `node`: FindForward, FindDefinition, MakePlan, with their
// errors; kInvalidArgument where `wanted` has another length than the op has
// inputs. An op of which no input is wanted needs no definition. Plans are
// kept: the second call with the same op, attributes and wishes costs a
// look-up. Errors are not kept. Thread-safe.
absl::StatusOr<std::shared_ptr<const Plan>> FindPlan(
    const tensorflow::NodeDef& node, absl::Span<const uint8_t> wanted = {});

// Forgets the plans of `op`, whose definition is another from now on, and those
// that other threads are making.
void DropPlans(const std::string& op);

// How often plans have been dropped: for whoever keeps what was made of plans.
uint64_t TimesPlansWereDropped();

// The plan in the form that TfExt_GradientPlan (c_api.h) describes.
tensorflow::GraphDef PlanToGraphDef(const Plan& plan);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_PLAN_PLAN_H_
