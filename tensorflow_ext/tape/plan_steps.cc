#include "tensorflow_ext/tape/plan_steps.h"

#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_def_util.h"

namespace tensorflow_ext {

bool IsChanged(const tensorflow::Node& node, const tensorflow::NodeDef& before, int num_inputs,
               int num_outputs) {
  if (node.num_inputs() != num_inputs || node.num_outputs() != num_outputs) return true;
  for (const auto& [name, value] : node.def().attr()) {
    const auto found = before.attr().find(name);
    if (found != before.attr().end() && !tensorflow::AreAttrValuesEqual(value, found->second)) {
      return true;
    }
  }
  return false;
}

void FindLastUses(EagerPlan* plan) {
  std::vector<bool> used(plan->steps.size());
  const auto use = [&](const EagerSource& source, EagerStep* last) {
    if (source.kind != EagerSource::kStep || used[source.index]) return;
    used[source.index] = true;
    if (last != nullptr) last->last_uses.push_back(source.index);
  };
  for (const auto& result : plan->results) {
    if (result) use(*result, nullptr);
  }
  for (const auto& rows : plan->rows) {
    if (!rows) continue;
    for (const EagerSource& source : {rows->values, rows->indices, rows->num_rows}) {
      use(source, nullptr);
    }
  }
  for (auto step = plan->steps.rbegin(); step != plan->steps.rend(); ++step) {
    for (const EagerSource& source : step->inputs) use(source, &*step);
  }
}

}  // namespace tensorflow_ext
