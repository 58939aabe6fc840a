#include "tensorflow_ext/tape/back_propagation.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tensorflow_ext/tape/tape_values.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::EagerContext;
using tensorflow::Tensor;
using tensorflow::TensorHandle;

namespace {

using Handles = std::vector<TensorHandle*>;

absl::StatusOr<HandlePtr> AddAll(EagerContext* context, const Handles& parts) {
  return RunOp(context, "AddN", "", parts,
               {{"T", TypeAttr(parts[0]->dtype)}, {"N", IntAttr(parts.size())}});
}

absl::StatusOr<HandlePtr> JoinRows(EagerContext* context, Handles parts) {
  const DataType type = parts[0]->dtype;
  const int64_t count = parts.size();
  const HandlePtr axis = ToHandle(Tensor(int32_t{0}));
  parts.push_back(axis.get());
  return RunOp(
      context, "ConcatV2", "", parts,
      {{"T", TypeAttr(type)}, {"N", IntAttr(count)}, {"Tidx", TypeAttr(tensorflow::DT_INT32)}});
}

// The gradient that has the rows of all.
absl::StatusOr<TapeGradient> Join(EagerContext* context, const std::vector<TapeGradient>& parts) {
  const DataType type = parts[0].indices->dtype;
  const bool alike =
      absl::c_all_of(parts, [&](const TapeGradient& part) { return part.indices->dtype == type; });
  Handles values, indices;
  std::vector<HandlePtr> cast;
  for (const TapeGradient& part : parts) {
    TF_ASSIGN_OR_RETURN(HandlePtr own,
                        CastTo(context, alike ? type : tensorflow::DT_INT64, part.indices.get()));
    values.push_back(part.values.get());
    indices.push_back(own.get());
    cast.push_back(std::move(own));
  }
  TapeGradient joined;
  TF_ASSIGN_OR_RETURN(joined.values, JoinRows(context, values));
  TF_ASSIGN_OR_RETURN(joined.indices, JoinRows(context, indices));
  joined.num_rows = parts[0].num_rows.GetNewRef();
  return joined;
}

// Calls `visit` for each source that a step takes. `needed` as for RunSteps.
template <typename Visit>
void ForInputs(const EagerPlan& plan, const std::vector<bool>& needed, const Visit& visit) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (!needed.empty() && !needed[i]) continue;
    for (const EagerSource& source : plan.steps[i].inputs) visit(source);
  }
}

std::string ReasonOf(const Record& record) {
  return absl::StrCat("the gradient of op ", record.op, " is dense");
}

// The plan for upstream gradients of so many outputs.
absl::StatusOr<const EagerPlan*> PlanFor(const Record& record, size_t num_outputs) {
  if (record.plan == nullptr) return record.error;
  if (num_outputs <= record.plan->uses_upstream.size()) return record.plan.get();
  for (const auto& further : record.plan->further) {
    if (num_outputs <= further->uses_upstream.size()) return further.get();
  }
  if (!record.plan->further_error.ok()) return record.plan->further_error;
  return absl::UnimplementedError(absl::StrCat(
      "Op ", record.op, " ran with ", record.plan->further.size() + 1,
      " orders of its gradient prepared, and another one is requested. It draws numbers or changes "
      "state, so it cannot run again. Let one more tape record it, up to 3"));
}

// The steps that lead to `ends`; empty if all do.
std::vector<bool> StepsTo(const EagerPlan& plan, const std::vector<EagerSource>& ends) {
  std::vector<bool> needed(plan.steps.size());
  const auto need = [&](const EagerSource& source) {
    if (source.kind == EagerSource::kStep) needed[source.index] = true;
  };
  for (const EagerSource& end : ends) need(end);
  for (int i = plan.steps.size() - 1; i >= 0; --i) {
    if (!needed[i]) continue;
    for (const EagerSource& source : plan.steps[i].inputs) need(source);
  }
  return absl::c_linear_search(needed, false) ? needed : std::vector<bool>();
}

}  // namespace

TapeGradient TapeGradient::NewRef() const {
  return {values.GetNewRef(), indices.GetNewRef(), num_rows.GetNewRef(), reason};
}

absl::StatusOr<TapeGradient> ToDense(EagerContext* context, const TapeGradient& rows) {
  if (!rows.is_rows()) return rows.NewRef();
  TapeGradient dense;
  TF_ASSIGN_OR_RETURN(dense.values,
                      RunOp(context, "UnsortedSegmentSum", "",
                            {rows.values.get(), rows.indices.get(), rows.num_rows.get()},
                            {{"T", TypeAttr(rows.values->dtype)},
                             {"Tindices", TypeAttr(rows.indices->dtype)},
                             {"Tnumsegments", TypeAttr(rows.num_rows->dtype)}}));
  return dense;
}

absl::StatusOr<TapeGradient> BackPropagation::SumOf(const std::vector<TapeGradient>& parts) {
  const auto dense = absl::c_find_if_not(parts, [](const auto& part) { return part.is_rows(); });
  if (dense == parts.end()) return Join(context_, parts);
  std::vector<TapeGradient> all;
  Handles values;
  for (const TapeGradient& part : parts) {
    TF_ASSIGN_OR_RETURN(TapeGradient one, ToDense(context_, part));
    values.push_back(one.values.get());
    all.push_back(std::move(one));
  }
  TapeGradient sum;
  TF_ASSIGN_OR_RETURN(sum.values, AddAll(context_, values));
  sum.reason = dense->reason;
  return sum;
}

absl::StatusOr<TapeGradient> BackPropagation::Sum(TensorId id) {
  const auto found = gradients_.find(id);
  if (found == gradients_.end()) return TapeGradient();
  std::vector<TapeGradient>& parts = found->second;
  if (parts.size() > 1) {
    TF_ASSIGN_OR_RETURN(TapeGradient sum, SumOf(parts));
    parts.clear();
    parts.push_back(std::move(sum));
  }
  return parts[0].NewRef();
}

absl::Status BackPropagation::Complete(const Record& record, const EagerPlan& plan,
                                       const std::vector<bool>& needed,
                                       std::vector<TapeGradient>* upstream) {
  for (size_t k = 0; k < plan.uses_upstream.size(); ++k) {
    HandlePtr& gradient = (*upstream)[k].values;
    if (gradient != nullptr || !plan.uses_upstream[k]) continue;
    if (record.zeros[k] == nullptr) {
      TF_ASSIGN_OR_RETURN(gradient,
                          Zeros(context_, record.device, record.types[k], record.shapes[k]));
    } else {
      TF_ASSIGN_OR_RETURN(gradient, ZerosLike(context_, record.zeros[k].get()));
    }
  }
  if (absl::c_none_of(*upstream, [](const auto& one) { return one.is_rows(); })) {
    return absl::OkStatus();
  }
  std::vector<bool> taken(upstream->size());
  ForInputs(plan, needed, [&](const EagerSource& source) {
    if (source.kind == EagerSource::kUpstream) taken[source.index] = true;
  });
  for (size_t k = 0; k < upstream->size(); ++k) {
    if (!taken[k] || !(*upstream)[k].is_rows()) continue;
    TF_ASSIGN_OR_RETURN((*upstream)[k], ToDense(context_, (*upstream)[k]));
    (*upstream)[k].reason = ReasonOf(record);
  }
  return absl::OkStatus();
}

absl::Status BackPropagation::Run(const Record& record, const absl::flat_hash_set<TensorId>& wanted,
                                  const absl::flat_hash_set<TensorId>& results) {
  std::vector<TapeGradient> upstream;
  size_t num_present = 0;  // up to the last upstream gradient
  for (size_t k = 0; k < record.outputs.size(); ++k) {
    const TensorId id = record.outputs[k];
    TF_ASSIGN_OR_RETURN(TapeGradient gradient, id == 0 ? TapeGradient() : Sum(id));
    if (gradient.values != nullptr) num_present = k + 1;
    upstream.push_back(std::move(gradient));
    if (results.count(id) == 0) gradients_.erase(id);
  }
  if (num_present == 0) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const EagerPlan* const found, PlanFor(record, num_present));
  const EagerPlan& plan = *found;
  const auto rows_of = [&](size_t i) {
    return keeps_rows_ && plan.rows[i] ? &*plan.rows[i] : nullptr;
  };
  std::vector<EagerSource> ends;
  for (size_t i = 0; i < plan.results.size(); ++i) {
    if (!plan.results[i] || wanted.count(record.inputs[i]) == 0) continue;
    if (const EagerRows* rows = rows_of(i)) {
      ends.insert(ends.end(), {rows->values, rows->indices, rows->num_rows});
    } else {
      ends.push_back(*plan.results[i]);
    }
  }
  const std::vector<bool> needed = StepsTo(plan, ends);
  TF_RETURN_IF_ERROR(Complete(record, plan, needed, &upstream));
  const auto find = [&](const EagerSource& source) -> TensorHandle* {
    if (source.kind == EagerSource::kUpstream) return upstream[source.index].values.get();
    if (source.kind == EagerSource::kConstant) return plan.constants[source.index].get();
    for (size_t i = 0; i < plan.kept.size(); ++i) {
      if (plan.kept[i].kind == source.kind && plan.kept[i].index == source.index) {
        return record.kept[i].get();
      }
    }
    return nullptr;
  };
  std::vector<std::vector<HandlePtr>> values;
  TF_RETURN_IF_ERROR(RunSteps(context_, plan.steps, needed, find, &values));
  const auto value = [&](const EagerSource& source) {
    return source.kind == EagerSource::kStep ? values[source.index][source.output].GetNewRef()
                                             : NewRef(find(source));
  };
  for (size_t i = 0; i < plan.results.size(); ++i) {
    if (!plan.results[i] || wanted.count(record.inputs[i]) == 0) continue;
    const EagerSource& result = *plan.results[i];
    if (const EagerRows* rows = rows_of(i)) {
      Add(record.inputs[i], {value(rows->values), value(rows->indices), value(rows->num_rows), ""});
    } else if (result.kind == EagerSource::kUpstream) {
      Add(record.inputs[i], upstream[result.index].NewRef());
    } else {
      Add(record.inputs[i], {value(result), nullptr, nullptr, keeps_rows_ ? ReasonOf(record) : ""});
    }
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
