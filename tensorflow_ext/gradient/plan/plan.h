// Makes the steps that a client runs from a checked definition.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/types.pb.h"

namespace tensorflow_ext {

struct Definition;
struct Forward;

// The source of a tensor of the plan.
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
  // The number of `inputs` that each argument of the OpDef takes; -1 for an argument that is not a
  // list.
  std::vector<int> argument_sizes;
  // Steps that must run first.
  std::vector<int> control_inputs;
};

// The steps that compute the gradient of an op with given attributes, each after its inputs, and
// the source of the gradient of each input of the op (flattened), if it has one.
struct Plan {
  int num_inputs = 0;
  int num_outputs = 0;
  std::vector<Step> steps;
  std::vector<std::optional<Source>> results;
};

// True if a tensor of this type can have a gradient at all: it is floating, complex, a resource or
// a variant.
bool IsDifferentiable(tensorflow::DataType type);

// The inputs of an op whose gradients are wanted.
struct Wanted {
  // 1 or 0 for each input; empty means all.
  std::vector<uint8_t> inputs;
  // True if inputs of every type have gradients. TensorFlow's own client gradients differentiate
  // integers, too.
  bool of_any_type = false;

  bool operator==(const Wanted& other) const {
    return inputs == other.inputs && of_any_type == other.of_any_type;
  }
};

// True if input `i` of the op can have a gradient and it is wanted.
bool IsWanted(const Forward& forward, const Wanted& wanted, int i);

// The plan of a definition. Outputs of the forward op replace nodes that would run it again. Nodes
// that feed no wanted and possible gradient are left out. Errors: kFailedPrecondition, a node
// depends on itself.
absl::StatusOr<Plan> MakePlan(const Definition& definition, const Wanted& wanted);

// The plan for `node`: FindForward, FindDefinition, MakePlan, with their errors; kInvalidArgument
// if the length of `wanted.inputs` is not the number of the op's inputs. An op without wanted
// inputs needs no definition. Plans are kept: the second call with the same op, attributes and
// `wanted` costs a look-up. Errors are not kept. Thread-safe.
absl::StatusOr<std::shared_ptr<const Plan>> FindPlan(const tensorflow::NodeDef& node,
                                                     const Wanted& wanted = {});

// Drops the plans of `op`, whose definition has changed, including those that other threads are
// making.
void DropPlans(const std::string& op);

// The number of times plans were dropped, for caches of data made from plans.
uint64_t TimesPlansWereDropped();

// The plan in the form of TfExt_GradientPlan (c_api.h).
tensorflow::GraphDef PlanToGraphDef(const Plan& plan);

}  // namespace tensorflow_ext
