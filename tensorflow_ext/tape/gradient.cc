#include "tensorflow_ext/tape/gradient.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/tape/back_propagation.h"
#include "tensorflow_ext/tape/tape_values.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::EagerContext;
using tensorflow::Tensor;
using tensorflow::TensorHandle;
using tensorflow::TensorShape;

namespace {

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

// The gradients of the sum of `y` by each x; without values if no y depends on it.
absl::StatusOr<std::vector<TapeGradient>> GoBack(TapeState* tape, const Handles& y,
                                                 const Handles& x, const Handles& dy,
                                                 bool keeps_rows) {
  TF_RETURN_IF_ERROR(CheckDifferentiable("y", y, false));
  TF_RETURN_IF_ERROR(CheckDifferentiable("x", x, true));
  TF_RETURN_IF_ERROR(CheckAlike("dy", dy, "y", y));
  Recorder& recorder = Recorder::Get();
  std::vector<TensorId> y_ids, x_ids;
  absl::flat_hash_set<TensorId> sources;
  std::vector<RecordPtr> records;
  TF_RETURN_IF_ERROR(recorder.Locked([&](RemovedRecords* removed) -> absl::Status {
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
  BackPropagation back(tape->context, keeps_rows);
  for (size_t i = 0; i < y.size(); ++i) {
    if (y_ids[i] == 0 || wanted.count(y_ids[i]) == 0) continue;
    if (!dy.empty() && dy[i] != nullptr) {
      back.Add(y_ids[i],
               {NewRef(dy[i]), nullptr, nullptr, "the upstream gradient of a y is dense"});
      continue;
    }
    TF_ASSIGN_OR_RETURN(HandlePtr ones, LikeThis(tape->context, "OnesLike", y[i]));
    back.Add(y_ids[i],
             {std::move(ones), nullptr, nullptr, "the upstream gradient of a y is dense"});
  }
  for (RecordPtr& record : records) {
    TF_RETURN_IF_ERROR(back.Run(*record, wanted, sources));
    record = nullptr;  // frees what nobody else needs
  }
  std::vector<TapeGradient> gradients;
  for (const TensorId id : x_ids) {
    TF_ASSIGN_OR_RETURN(TapeGradient gradient, id == 0 ? TapeGradient() : back.Sum(id));
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

// The shape of `x`, of the variable if that is its handle.
absl::StatusOr<HandlePtr> ShapeOf(EagerContext* context, TensorHandle* x, DataType type) {
  const char* const op = x->dtype == tensorflow::DT_RESOURCE ? "VariableShape" : "Shape";
  std::vector<std::pair<const char*, tensorflow::AttrValue>> attrs = {{"out_type", TypeAttr(type)}};
  if (x->dtype != tensorflow::DT_RESOURCE) attrs.emplace_back("T", TypeAttr(x->dtype));
  return RunOp(context, op, "", {x}, attrs);
}

// The same rows with unequal indices.
absl::Status SumRepeated(EagerContext* context, SlicedTapeGradient* rows) {
  const DataType type = rows->indices->dtype, int32 = tensorflow::DT_INT32;
  tensorflow::AttrBuilder unique("Unique");
  unique.Set("T", type);
  unique.Set("out_idx", int32);
  std::vector<HandlePtr> outputs;
  TF_RETURN_IF_ERROR(RunOp(context, unique, "", {rows->indices.get()}, 2, &outputs));
  TF_ASSIGN_OR_RETURN(const HandlePtr count,
                      RunOp(context, "Size", "", {outputs[0].get()},
                            {{"T", TypeAttr(type)}, {"out_type", TypeAttr(int32)}}));
  TF_ASSIGN_OR_RETURN(rows->values, RunOp(context, "UnsortedSegmentSum", "",
                                          {rows->values.get(), outputs[1].get(), count.get()},
                                          {{"T", TypeAttr(rows->values->dtype)},
                                           {"Tindices", TypeAttr(int32)},
                                           {"Tnumsegments", TypeAttr(int32)}}));
  rows->indices = std::move(outputs[0]);
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
  Recorder::Get().Locked([&](RemovedRecords* removed) {
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
  TF_ASSIGN_OR_RETURN(std::vector<TapeGradient> found,
                      GoBack(tape, y, x, dy, /*keeps_rows=*/false));
  std::vector<HandlePtr> gradients;
  for (TapeGradient& gradient : found) gradients.push_back(std::move(gradient.values));
  return gradients;
}

absl::StatusOr<std::vector<SlicedTapeGradient>> SlicedGradient(TapeState* tape, const Handles& y,
                                                               const Handles& x, const Handles& dy,
                                                               bool sum_repeated) {
  TF_ASSIGN_OR_RETURN(std::vector<TapeGradient> found, GoBack(tape, y, x, dy, /*keeps_rows=*/true));
  std::vector<SlicedTapeGradient> gradients(x.size());
  for (size_t k = 0; k < x.size(); ++k) {
    SlicedTapeGradient& gradient = gradients[k];
    if (!found[k].is_rows()) {
      gradient.dense = std::move(found[k].values);
      gradient.reason =
          gradient.dense == nullptr ? "no y depends on it" : std::move(found[k].reason);
      continue;
    }
    gradient.values = std::move(found[k].values);
    gradient.indices = std::move(found[k].indices);
    TF_ASSIGN_OR_RETURN(gradient.shape, ShapeOf(tape->context, x[k], gradient.indices->dtype));
    if (sum_repeated) TF_RETURN_IF_ERROR(SumRepeated(tape->context, &gradient));
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
