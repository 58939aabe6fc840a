// Facts about the op and the steps of a plan.

#pragma once

#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/tape/eager_plan.h"

namespace tensorflow_ext {

// True if a node's call differs: it returns more, takes more, or calls another function.
bool IsChanged(const tensorflow::Node& node, const tensorflow::NodeDef& before, int num_inputs,
               int num_outputs);

// Fills last_uses of the plan's steps.
void FindLastUses(EagerPlan* plan);

}  // namespace tensorflow_ext
