// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/tape/gradient.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/tape/run_steps.h"

namespace tensorflow_ext {

using tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::EagerContext;
using tensorflow::Tensor;
using tensorflow::TensorHandle;
using tensorflow::TensorShape;

namespace {

AttrValue TypeAttr(DataType type) {
  AttrValue value;
  value.set_type(type);
  return value;
}

AttrValue IntAttr(int64_t number) {
  AttrValue value;
  value.set_i(number);
  return value;
}

absl::StatusOr<HandlePtr> LikeThis(EagerContext* context, const char* op, TensorHandle* x) {
  return RunOp(context, op, "", {x}, {{"T", TypeAttr(x->dtype)}});
}

HandlePtr ToHandle(const Tensor& value) {
  return HandlePtr(TensorHandle::CreateLocalHandle(value));
}

HandlePtr ShapeHandle(const TensorShape& shape) {
  Tensor dims(tensorflow::DT_INT64, {shape.dims()});
  for (int d = 0; d < shape.dims(); ++d) dims.flat<int64_t>()(d) = shape.dim_size(d);
  return ToHandle(dims);
}

absl::StatusOr<HandlePtr> Zeros(EagerContext* context, const std::string& device, DataType type,
                                const TensorShape& shape) {
  Tensor zero(type, {});
  std::memset(zero.data(), 0, zero.TotalBytes());
  return RunOp(context, "Fill", device, {ShapeHandle(shape).get(), ToHandle(zero).get()},
               {{"T", TypeAttr(type)}, {"index_type", TypeAttr(tensorflow::DT_INT64)}});
}

absl::StatusOr<HandlePtr> ZerosLike(EagerContext* context, TensorHandle* x) {
  if (x->dtype != tensorflow::DT_RESOURCE) return LikeThis(context, "ZerosLike", x);
  std::vector<tensorflow::DtypeAndPartialTensorShape> variable;
  TF_RETURN_IF_ERROR(x->GetResourceHandleDtypesAndShapes(&variable));
  TensorShape shape;
  if (variable.size() != 1 || !variable[0].shape.AsTensorShape(&shape)) {
    return absl::InvalidArgumentError(
        "x: zeros are requested for a variable whose type or shape is unknown; make its handle "
        "with "
        "a shape, or ask for no zeros (in C, TFEXT_UNCONNECTED_NONE)");
  }
  return Zeros(context, "", variable[0].dtype, shape);
}

// Goes back through records.
class BackPropagation {
 public:
  explicit BackPropagation(EagerContext* context) : context_(context) {}

  void Add(TensorId id, HandlePtr gradient) { gradients_[id].push_back(std::move(gradient)); }

  // The sum of the gradients of a tensor, null if it has none.
  absl::StatusOr<HandlePtr> Sum(TensorId id) {
    const auto found = gradients_.find(id);
    if (found == gradients_.end()) return HandlePtr();
    std::vector<HandlePtr>& parts = found->second;
    if (parts.size() > 1) {
      Handles inputs;
      for (const HandlePtr& part : parts) inputs.push_back(part.get());
      TF_ASSIGN_OR_RETURN(HandlePtr sum,
                          RunOp(context_, "AddN", "", inputs,
                                {{"T", TypeAttr(parts[0]->dtype)}, {"N", IntAttr(parts.size())}}));
      parts.clear();
      parts.push_back(std::move(sum));
    }
    return parts[0].GetNewRef();
  }

  // `wanted`: the tensors whose gradients are needed.
  absl::Status Run(const Record& record, const absl::flat_hash_set<TensorId>& wanted,
                   const absl::flat_hash_set<TensorId>& results) {
    std::vector<HandlePtr> upstream;
    size_t num_present = 0;  // up to the last upstream gradient
    for (size_t k = 0; k < record.outputs.size(); ++k) {
      const TensorId id = record.outputs[k];
      TF_ASSIGN_OR_RETURN(HandlePtr gradient, id == 0 ? HandlePtr() : Sum(id));
      if (gradient != nullptr) num_present = k + 1;
      upstream.push_back(std::move(gradient));
      if (results.count(id) == 0) gradients_.erase(id);
    }
    if (num_present == 0) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(const EagerPlan* const found, PlanFor(record, num_present));
    const EagerPlan& plan = *found;
    for (size_t k = 0; k < plan.uses_upstream.size(); ++k) {
      if (upstream[k] != nullptr || !plan.uses_upstream[k]) continue;
      if (record.zeros[k] == nullptr) {
        TF_ASSIGN_OR_RETURN(upstream[k],
                            Zeros(context_, record.device, record.types[k], record.shapes[k]));
      } else {
        TF_ASSIGN_OR_RETURN(upstream[k], ZerosLike(context_, record.zeros[k].get()));
      }
    }
    const auto find = [&](const EagerSource& source) -> TensorHandle* {
      if (source.kind == EagerSource::kUpstream) return upstream[source.index].get();
      if (source.kind == EagerSource::kConstant) return plan.constants[source.index].get();
      for (size_t i = 0; i < plan.kept.size(); ++i) {
        if (plan.kept[i].kind == source.kind && plan.kept[i].index == source.index) {
          return record.kept[i].get();
        }
      }
      return nullptr;
    };
    const auto is_wanted = [&](size_t i) {
      return plan.results[i].has_value() && wanted.count(record.inputs[i]) > 0;
    };
    std::vector<std::vector<HandlePtr>> values;
    TF_RETURN_IF_ERROR(RunSteps(context_, plan.steps, Needed(plan, is_wanted), find, &values));
    for (size_t i = 0; i < plan.results.size(); ++i) {
      if (!is_wanted(i)) continue;
      const EagerSource& source = *plan.results[i];
      Add(record.inputs[i], source.kind == EagerSource::kStep
                                ? values[source.index][source.output].GetNewRef()
                                : NewRef(find(source)));
    }
    return absl::OkStatus();
  }

 private:
  // The plan for upstream gradients of so many outputs.
  static absl::StatusOr<const EagerPlan*> PlanFor(const Record& record, size_t num_outputs) {
    if (record.plan == nullptr) return record.error;
    if (num_outputs <= record.plan->uses_upstream.size()) return record.plan.get();
    for (const auto& further : record.plan->further) {
      if (num_outputs <= further->uses_upstream.size()) return further.get();
    }
    if (!record.plan->further_error.ok()) return record.plan->further_error;
    return absl::UnimplementedError(absl::StrCat(
        "Op ", record.op, " ran with ", record.plan->further.size() + 1,
        " orders of its gradient prepared, and another one is requested. It draws numbers or "
        "changes state, so it cannot run again. Let one more tape record it, up to 3"));
  }

  // The steps that lead to wanted results; empty if all do.
  template <typename IsWanted>
  static std::vector<bool> Needed(const EagerPlan& plan, const IsWanted& is_wanted) {
    bool all = true;
    for (size_t i = 0; i < plan.results.size(); ++i) {
      all &= !plan.results[i].has_value() || is_wanted(i);
    }
    if (all) return {};
    std::vector<bool> needed(plan.steps.size());
    const auto need = [&](const EagerSource& source) {
      if (source.kind == EagerSource::kStep) needed[source.index] = true;
    };
    for (size_t i = 0; i < plan.results.size(); ++i) {
      if (is_wanted(i)) need(*plan.results[i]);
    }
    for (int i = plan.steps.size() - 1; i >= 0; --i) {
      if (!needed[i]) continue;
      for (const EagerSource& source : plan.steps[i].inputs) need(source);
    }
    return needed;
  }

  EagerContext* const context_;
  absl::flat_hash_map<TensorId, std::vector<HandlePtr>> gradients_;
};

absl::Status UsedUp() {
  return absl::FailedPreconditionError(
      "The tape is used up: it gave its gradient. Make it persistent to ask for more than one, or "
      "reset it to record anew");
}

absl::Status CheckDifferentiable(const char* name, const Handles& handles, bool may_be_variable) {
  for (size_t k = 0; k < handles.size(); ++k) {
    const tensorflow::DataType type = handles[k]->dtype;
    if (IsDifferentiable(type) && (may_be_variable || type != tensorflow::DT_RESOURCE)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, "[", k, "] has the type ", DataTypeString(type),
                     ", which has no gradient; expected floating point or complex numbers",
                     may_be_variable ? ", or the handle of a variable" : ""));
  }
  return absl::OkStatus();
}

// `given[k]` of argument `name` has the type and shape of `like[k]`, unless it is null.
absl::Status CheckAlike(const char* name, const Handles& given, const char* like_name,
                        const Handles& like) {
  for (size_t k = 0; k < given.size(); ++k) {
    if (given[k] == nullptr || like[k]->dtype == tensorflow::DT_RESOURCE) continue;
    tensorflow::TensorShape shape, expected;
    TF_RETURN_IF_ERROR(given[k]->Shape(&shape));
    TF_RETURN_IF_ERROR(like[k]->Shape(&expected));
    if (given[k]->dtype == like[k]->dtype && shape == expected) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, "[", k, "]: expected ", DataTypeString(like[k]->dtype),
                     expected.DebugString(), " as of ", like_name, "[", k, "], got ",
                     DataTypeString(given[k]->dtype), shape.DebugString()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TapePtr> NewTape(EagerContext* context, bool persistent, bool watches_variables) {
  TF_RETURN_IF_ERROR(Recorder::Get().Start());
  TapePtr tape(new TapeState);
  tape->context = context;
  tape->persistent = persistent;
  tape->watches_variables = watches_variables;
  tape->thread = std::this_thread::get_id();
  Recorder::Get().Add(tape.get());
  return tape;
}

void DeleteTape::operator()(TapeState* tape) const {
  Recorder::Get().Remove(tape);
  delete tape;
}

absl::Status Watch(TapeState* tape, TensorHandle* x) {
  TF_RETURN_IF_ERROR(CheckDifferentiable("x", {x}, true));
  Recorder& recorder = Recorder::Get();
  recorder.Locked([&](auto*) { tape->recorded.Watch(recorder.FindOrName(x)); });
  return absl::OkStatus();
}

absl::Status SetRecording(TapeState* tape, bool recording) {
  return Recorder::Get().Locked([&](auto*) -> absl::Status {
    if (tape->used_up) return UsedUp();
    tape->recording = recording;
    return absl::OkStatus();
  });
}

void Reset(TapeState* tape) {
  Recorder::Get().Locked([&](std::vector<RecordPtr>* removed) {
    tape->recorded.TakeAll(removed);
    tape->recording = true;
    tape->used_up = false;
  });
}

absl::Status FillWithZeros(EagerContext* context, const Handles& like,
                           std::vector<HandlePtr>* tensors) {
  for (size_t k = 0; k < tensors->size(); ++k) {
    if ((*tensors)[k] != nullptr) continue;
    TF_ASSIGN_OR_RETURN((*tensors)[k], ZerosLike(context, like[k]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HandlePtr>> Gradient(TapeState* tape, const Handles& y, const Handles& x,
                                                const Handles& dy) {
  TF_RETURN_IF_ERROR(CheckDifferentiable("y", y, false));
  TF_RETURN_IF_ERROR(CheckDifferentiable("x", x, true));
  TF_RETURN_IF_ERROR(CheckAlike("dy", dy, "y", y));
  Recorder& recorder = Recorder::Get();
  std::vector<TensorId> y_ids, x_ids;
  absl::flat_hash_set<TensorId> sources;
  std::vector<RecordPtr> records;
  TF_RETURN_IF_ERROR(recorder.Locked([&](std::vector<RecordPtr>* removed) -> absl::Status {
    if (tape->used_up) return UsedUp();
    for (size_t i = 0; i < x.size(); ++i) {
      x_ids.push_back(recorder.Find(x[i]));
      if (x_ids[i] != 0 && tape->recorded.Watches(x_ids[i])) {
        sources.insert(x_ids[i]);
      } else if (x[i]->dtype == tensorflow::DT_RESOURCE) {
        x_ids[i] = 0;  // No op has read the variable.
      } else {
        return absl::FailedPreconditionError(
            absl::StrCat("x[", i,
                         "] is no tensor that the tape watches. Watch it before the ops run "
                         "that lead to y"));
      }
    }
    for (TensorHandle* tensor : y) y_ids.push_back(recorder.Find(tensor));
    records = tape->recorded.Between(sources, y_ids);
    if (!tape->persistent) {
      tape->used_up = true;
      tape->recording = false;
      tape->recorded.TakeAll(removed);
    }
    return absl::OkStatus();
  }));
  absl::flat_hash_set<TensorId> wanted(sources);
  for (const RecordPtr& record : records) {
    wanted.insert(record->outputs.begin(), record->outputs.end());
  }
  BackPropagation back(tape->context);
  for (size_t i = 0; i < y.size(); ++i) {
    if (y_ids[i] == 0 || wanted.count(y_ids[i]) == 0) continue;
    if (!dy.empty() && dy[i] != nullptr) {
      back.Add(y_ids[i], NewRef(dy[i]));
      continue;
    }
    TF_ASSIGN_OR_RETURN(HandlePtr ones, LikeThis(tape->context, "OnesLike", y[i]));
    back.Add(y_ids[i], std::move(ones));
  }
  for (RecordPtr& record : records) {
    TF_RETURN_IF_ERROR(back.Run(*record, wanted, sources));
    record = nullptr;  // frees what nobody else needs
  }
  std::vector<HandlePtr> gradients;
  for (const TensorId id : x_ids) {
    TF_ASSIGN_OR_RETURN(HandlePtr gradient, id == 0 ? HandlePtr() : back.Sum(id));
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

absl::StatusOr<std::vector<HandlePtr>> Jacobian(TapeState* tape, TensorHandle* y,
                                                const Handles& x) {
  if (!tape->persistent) {
    return absl::FailedPreconditionError(
        "A Jacobian takes a gradient for each element of y. Make the tape persistent");
  }
  TF_RETURN_IF_ERROR(CheckDifferentiable("y", {y}, false));
  EagerContext* const context = tape->context;
  TensorShape shape;
  TF_RETURN_IF_ERROR(y->Shape(&shape));
  const int64_t rows = shape.num_elements();
  std::vector<std::vector<HandlePtr>> columns(x.size());
  for (int64_t row = 0; row < rows; ++row) {
    Tensor direction(tensorflow::DT_DOUBLE, shape);
    direction.flat<double>().setZero();
    direction.flat<double>()(row) = 1;
    TF_ASSIGN_OR_RETURN(
        const HandlePtr upstream,
        RunOp(context, "Cast", "", {ToHandle(direction).get()},
              {{"SrcT", TypeAttr(tensorflow::DT_DOUBLE)}, {"DstT", TypeAttr(y->dtype)}}));
    TF_ASSIGN_OR_RETURN(auto gradients, Gradient(tape, {y}, x, {upstream.get()}));
    for (size_t i = 0; i < x.size(); ++i) columns[i].push_back(std::move(gradients[i]));
  }
  std::vector<HandlePtr> jacobians;
  for (const std::vector<HandlePtr>& column : columns) {
    if (column.empty() || column[0] == nullptr) {
      jacobians.emplace_back();
      continue;
    }
    Handles parts;
    for (const HandlePtr& part : column) parts.push_back(part.get());
    const DataType type = column[0]->dtype;
    TF_ASSIGN_OR_RETURN(const HandlePtr packed,
                        RunOp(context, "Pack", "", parts,
                              {{"T", TypeAttr(type)}, {"N", IntAttr(rows)}, {"axis", IntAttr(0)}}));
    TensorShape of_x, all(shape);
    TF_RETURN_IF_ERROR(column[0]->Shape(&of_x));
    all.AppendShape(of_x);
    TF_ASSIGN_OR_RETURN(HandlePtr jacobian,
                        RunOp(context, "Reshape", "", {packed.get(), ShapeHandle(all).get()},
                              {{"T", TypeAttr(type)}, {"Tshape", TypeAttr(tensorflow::DT_INT64)}}));
    jacobians.push_back(std::move(jacobian));
  }
  return jacobians;
}

absl::StatusOr<std::vector<HandlePtr>> Jvp(TapeState* tape, const Handles& y, const Handles& x,
                                           const Handles& tangents) {
  // The gradient is linear in its upstream gradient u. The derivative of <gradient, tangents> by u
  // is the derivative in the direction of the tangents.
  TF_RETURN_IF_ERROR(CheckDifferentiable("y", y, false));
  TF_RETURN_IF_ERROR(CheckAlike("tangents", tangents, "x", x));
  EagerContext* const context = tape->context;
  std::vector<HandlePtr> upstream;
  Handles u;
  for (TensorHandle* tensor : y) {
    TF_ASSIGN_OR_RETURN(HandlePtr zeros, LikeThis(context, "ZerosLike", tensor));
    u.push_back(zeros.get());
    upstream.push_back(std::move(zeros));
  }
  TF_ASSIGN_OR_RETURN(const TapePtr second, NewTape(context, false, /*watches_variables=*/false));
  for (TensorHandle* tensor : u) TF_RETURN_IF_ERROR(Watch(second.get(), tensor));
  TF_ASSIGN_OR_RETURN(const std::vector<HandlePtr> gradients, Gradient(tape, y, x, u));
  Handles connected, directions;
  for (size_t i = 0; i < x.size(); ++i) {
    if (gradients[i] == nullptr) continue;
    connected.push_back(gradients[i].get());
    directions.push_back(tangents[i]);
  }
  return Gradient(second.get(), connected, u, directions);
}

}  // namespace tensorflow_ext
