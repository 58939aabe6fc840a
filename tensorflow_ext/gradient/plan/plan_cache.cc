#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/platform/hash.h"
#include "tensorflow_ext/gradient/define/definition.h"
#include "tensorflow_ext/gradient/define/node_attributes.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

using tensorflow::NodeDef;

namespace {

// Keeps plans by op, attributes and wanted inputs.
class PlanCache {
 public:
  static PlanCache& Global() {
    // Never destroyed: clients may differentiate while the process ends.
    static PlanCache* cache = new PlanCache;
    return *cache;
  }

  std::shared_ptr<const Plan> Find(uint64_t hash, const NodeDef& node, const Wanted& wanted) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto [begin, end] = entries_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (Matches(it->second, node, wanted)) return it->second.plan;
    }
    return nullptr;
  }

  // `times_dropped` is the value of TimesDropped() when the plan was started.
  void Insert(uint64_t hash, const NodeDef& node, const Wanted& wanted,
              std::shared_ptr<const Plan> plan, uint64_t times_dropped) {
    Entry entry{OpAndAttributes(node), wanted, std::move(plan)};
    // Two threads that meet the same op at once insert equal plans. The second is never found and
    // costs only its memory.
    std::unique_lock<std::shared_mutex> lock(mutex_);
    // The plan may come from a definition that has been replaced.
    if (times_dropped != times_dropped_) return;
    // An attribute that changes with every step must not fill the memory.
    if (entries_.size() >= kMaxPlans) entries_.clear();
    entries_.emplace(hash, std::move(entry));
  }

  void Drop(const std::string& op) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    ++times_dropped_;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      entry = entry->second.node.op() == op ? entries_.erase(entry) : std::next(entry);
    }
  }

  uint64_t TimesDropped() const { return times_dropped_; }

 private:
  struct Entry {
    NodeDef node;
    Wanted wanted;
    std::shared_ptr<const Plan> plan;
  };

  static bool Matches(const Entry& entry, const NodeDef& node, const Wanted& wanted) {
    return entry.node.op() == node.op() && wanted == entry.wanted &&
           SameAttributes(entry.node, node);
  }

  static constexpr size_t kMaxPlans = 4096;
  std::atomic<uint64_t> times_dropped_{0};  // changed under the mutex
  mutable std::shared_mutex mutex_;
  std::unordered_multimap<uint64_t, Entry> entries_;
};

// FastAttrValueHash serialises all but tensors: most attributes are small.
uint64_t Hash(const tensorflow::AttrValue& value) {
  switch (value.value_case()) {
    case tensorflow::AttrValue::kType:
      return value.type();
    case tensorflow::AttrValue::kI:
      return value.i();
    case tensorflow::AttrValue::kB:
      return value.b();
    default:
      return tensorflow::FastAttrValueHash(value);
  }
}

// Attribute maps have no order, so their hashes are summed.
uint64_t Hash(const NodeDef& node, const Wanted& wanted) {
  uint64_t hash = tensorflow::Hash64(node.op());
  for (const auto& [name, value] : node.attr()) {
    if (IsAnnotation(name)) continue;
    hash += tensorflow::Hash64Combine(tensorflow::Hash64(name), Hash(value));
  }
  hash += wanted.of_any_type;
  return tensorflow::Hash64Combine(
      hash, tensorflow::Hash64(reinterpret_cast<const char*>(wanted.inputs.data()),
                               wanted.inputs.size()));
}

absl::StatusOr<Plan> MakePlanFor(const NodeDef& node, const Wanted& wanted) {
  TF_ASSIGN_OR_RETURN(Forward forward, FindForward(node));
  const int num_inputs = forward.input_types.size();
  const int num_wanted = wanted.inputs.size();
  if (num_wanted != 0 && num_wanted != num_inputs) {
    return absl::InvalidArgumentError(absl::StrCat("wanted: has ", num_wanted, " elements, but ",
                                                   node.op(), " has ", num_inputs,
                                                   " inputs; give one for each, or none for all"));
  }
  for (int i = 0; i < num_inputs; ++i) {
    if (!IsWanted(forward, wanted, i)) continue;
    TF_ASSIGN_OR_RETURN(Definition definition, FindDefinition(forward));
    return MakePlan(definition, wanted);
  }
  Plan nothing;
  nothing.num_inputs = num_inputs;
  nothing.num_outputs = forward.output_types.size();
  nothing.results.resize(num_inputs);
  return nothing;
}

}  // namespace

void DropPlans(const std::string& op) { PlanCache::Global().Drop(op); }

uint64_t TimesPlansWereDropped() { return PlanCache::Global().TimesDropped(); }

absl::StatusOr<std::shared_ptr<const Plan>> FindPlan(const NodeDef& node, const Wanted& wanted) {
  const uint64_t hash = Hash(node, wanted);
  PlanCache& cache = PlanCache::Global();
  if (auto plan = cache.Find(hash, node, wanted)) return plan;
  const uint64_t times_dropped = cache.TimesDropped();
  // Made outside the lock, because a creator is the op author's code.
  TF_ASSIGN_OR_RETURN(Plan made, MakePlanFor(node, wanted));
  auto plan = std::make_shared<const Plan>(std::move(made));
  cache.Insert(hash, node, wanted, plan, times_dropped);
  return plan;
}

}  // namespace tensorflow_ext
