#include "tensorflow_ext/tape/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow_ext/base/private_member.h"
#include "tensorflow_ext/tape/run_steps.h"
#include "tensorflow_ext/tape/tape_ops.h"
#include "tensorflow_ext/tape/virtual_functions.h"

// The tables of virtual functions of TensorFlow's classes, by the names of the C++ ABI. They are
// weak: without them the library loads, and has no tapes.
#define TENSORFLOW_EXT_IMPORTED __attribute__((weak, visibility("default")))
extern "C" {
TENSORFLOW_EXT_IMPORTED extern void* _ZTVN10tensorflow14EagerOperationE[];
TENSORFLOW_EXT_IMPORTED extern void* _ZTVN10tensorflow12EagerContextE[];
TENSORFLOW_EXT_IMPORTED extern void* _ZTVN10tensorflow12TensorHandleE[];
}
#undef TENSORFLOW_EXT_IMPORTED

namespace tensorflow_ext {

using tensorflow::AbstractTensorHandle;
using tensorflow::DataType;
using tensorflow::EagerContext;
using tensorflow::EagerOperation;
using tensorflow::ImmediateExecutionTensorHandle;
using tensorflow::Tensor;
using tensorflow::TensorHandle;
using tensorflow::core::RefCounted;

struct NotifyDeleted {
  using Member = void (RefCounted::*)() const;
  friend Member Find(NotifyDeleted);
};
template struct PrivateMember<NotifyDeleted, &RefCounted::NotifyDeleted>;

namespace {

using Outputs = absl::Span<AbstractTensorHandle*>;
using Inputs = absl::Span<ImmediateExecutionTensorHandle* const>;

// So many orders of gradients of what only a run of the op can give are prepared.
constexpr int kMostOrders = 3;

// True if the tensor's elements are no numbers, so its shape does not tell its zeros.
bool IsOfHandles(DataType type) {
  return type == tensorflow::DT_VARIANT || type == tensorflow::DT_RESOURCE;
}

absl::Status (*execute)(EagerOperation*, Outputs, int*);
ImmediateExecutionTensorHandle* (*copy_to_device)(EagerContext*, ImmediateExecutionTensorHandle*,
                                                  const char*, absl::Status*);
void (*notify_deleted)(const TensorHandle*);

// True while this thread runs steps for a record or in place of an op. They are not recorded
// themselves.
thread_local bool runs_forward = false;

struct RunsForward {
  RunsForward() { runs_forward = true; }
  ~RunsForward() { runs_forward = false; }
};

absl::Status Execute(EagerOperation* op, Outputs outputs, int* num_outputs) {
  Recorder& recorder = Recorder::Get();
  if (!recorder.IsNeeded() || runs_forward) return execute(op, outputs, num_outputs);
  return recorder.Execute(op, outputs, num_outputs);
}

ImmediateExecutionTensorHandle* CopyToDevice(EagerContext* context,
                                             ImmediateExecutionTensorHandle* handle,
                                             const char* device, absl::Status* status) {
  ImmediateExecutionTensorHandle* copy = copy_to_device(context, handle, device, status);
  Recorder& recorder = Recorder::Get();
  if (copy != nullptr && copy != handle && recorder.IsNeeded() && TensorHandle::classof(handle) &&
      TensorHandle::classof(copy)) {
    recorder.RecordCopy(context, tensorflow::TensorHandleFromInterface(handle),
                        tensorflow::TensorHandleFromInterface(copy));
  }
  return copy;
}

void Forget(const TensorHandle* handle) {
  Recorder& recorder = Recorder::Get();
  if (recorder.IsNeeded()) recorder.Forget(handle);
  notify_deleted(handle);
}

// A virtual function of TensorFlow, and ours in its place.
struct Replacement {
  template <typename Member, typename Function>
  Replacement(void** table, Member member, const char* symbol, Function* function,
              Function** original)
      : table(table),
        entry(VirtualEntry(table, member)),
        symbol(symbol),
        function(reinterpret_cast<void*>(function)),
        original(reinterpret_cast<void**>(original)) {}

  void** table;
  void** entry;
  const char* symbol;
  void* function;
  void** original;
};

absl::Status ReplaceAll() {
  const Replacement replacements[] = {
      {_ZTVN10tensorflow12TensorHandleE, Find(NotifyDeleted()), "10RefCounted13NotifyDeletedE",
       &Forget, &notify_deleted},
      {_ZTVN10tensorflow12EagerContextE, &EagerContext::CopyTensorHandleToDevice,
       "12EagerContext24CopyTensorHandleToDeviceE", &CopyToDevice, &copy_to_device},
      {_ZTVN10tensorflow14EagerOperationE, &EagerOperation::Execute, "14EagerOperation7ExecuteE",
       &Execute, &execute},
  };
  // Nothing is replaced if any check fails.
  for (const Replacement& one : replacements) {
    TF_RETURN_IF_ERROR(CheckEntry(one.table, one.entry, one.symbol));
  }
  for (const Replacement& one : replacements) {
    TF_RETURN_IF_ERROR(ReplaceEntry(one.entry, one.function, one.original));
  }
  return absl::OkStatus();
}

// A second handle of an output. A record that kept the output itself would be what keeps the
// record. `waits`: the output may not be there yet, so an op passes it on.
HandlePtr SecondHandle(TensorHandle* handle, bool waits, EagerContext* context) {
  if (waits) {
    const RunsForward unrecorded;
    tensorflow::AttrValue type;
    type.set_type(handle->dtype);
    absl::StatusOr<HandlePtr> second = RunOp(context, "Identity", "", {handle}, {{"T", type}});
    return second.ok() ? *std::move(second) : NewRef(handle);
  }
  const Tensor* tensor;
  if (handle->Type() != TensorHandle::LOCAL || !handle->Tensor(&tensor).ok()) return NewRef(handle);
  return HandlePtr(TensorHandle::CreateLocalHandle(
      Tensor(*tensor), handle->device(), handle->op_device(), handle->resource_device(), context));
}

}  // namespace

struct Recorder::Watched {
  // The tapes that watch an input, the inputs that any of them watches, and the ids of all.
  std::vector<TapeState*> tapes;
  std::vector<bool> inputs;
  std::vector<TensorId> ids;
  // How often the tapes may differentiate the op. A persistent tape may record its own gradient.
  int orders = 0;
};

Recorder& Recorder::Get() {
  static auto* const recorder = new Recorder;
  return *recorder;
}

absl::Status Recorder::Start() {
  static const auto* const started = new absl::Status(ReplaceAll());
  return *started;
}

void Recorder::Add(TapeState* tape) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tapes_.push_back(tape);
  num_tapes_.store(tapes_.size());
}

void Recorder::Remove(TapeState* tape) {
  Locked([&](RemovedRecords* removed) {
    tape->recorded.TakeAll(removed);
    tapes_.erase(std::remove(tapes_.begin(), tapes_.end(), tape), tapes_.end());
  });
  // The records are gone: their handles were forgotten while the recorder was needed.
  const std::lock_guard<std::mutex> lock(mutex_);
  num_tapes_.store(tapes_.size());
  if (tapes_.empty()) names_.clear();
}

TensorId Recorder::Find(const Handle* handle) const {
  const auto found = names_.find(handle);
  return found == names_.end() ? 0 : found->second.id;
}

TensorId Recorder::FindOrName(const Handle* handle) {
  const auto [named, is_new] = names_.try_emplace(handle, Named{last_id_ + 1, true});
  if (is_new) ++last_id_;
  return named->second.id;
}

void Recorder::Forget(const Handle* handle) {
  Locked([&](RemovedRecords* removed) {
    const auto found = names_.find(handle);
    if (found == names_.end()) return;
    const Named named = found->second;
    names_.erase(found);
    if (!named.is_programs) return;
    for (TapeState* tape : tapes_) tape->recorded.Forget(named.id, removed);
  });
}

Recorder::Watched Recorder::FindTapes(const EagerContext& context, Inputs inputs) {
  Watched watched;
  watched.inputs.resize(inputs.size());
  watched.ids.resize(inputs.size());
  Locked([&](auto*) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (IsDifferentiable(inputs[i]->DataType())) watched.ids[i] = Find(inputs[i]);
    }
    for (TapeState* tape : tapes_) {
      if (!tape->recording || (tape->context != nullptr && tape->context != &context)) continue;
      const bool may_watch = tape->watches_variables && tape->thread == std::this_thread::get_id();
      bool listens = false;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (may_watch && inputs[i]->DataType() == tensorflow::DT_RESOURCE) {
          watched.ids[i] = FindOrName(inputs[i]);
          tape->recorded.Watch(watched.ids[i]);
        }
        if (watched.ids[i] == 0 || !tape->recorded.Watches(watched.ids[i])) continue;
        listens = true;
        watched.inputs[i] = true;
      }
      if (!listens) continue;
      watched.tapes.push_back(tape);
      watched.orders = std::min(watched.orders + (tape->persistent ? 2 : 1), kMostOrders);
    }
  });
  return watched;
}

void Recorder::AddRecord(const Watched& watched, bool waits, EagerContext* context,
                         const std::vector<HandlePtr>& inputs, Outputs outputs, RecordPtr record) {
  const int num_outputs = outputs.size();
  const auto output = [&](int k) { return static_cast<TensorHandle*>(outputs[k]); };
  bool differentiable = false;
  for (int k = 0; k < num_outputs; ++k) {
    const DataType type = output(k)->dtype;
    differentiable |= IsDifferentiable(type);
    tensorflow::TensorShape shape;
    const bool knows_zeros = !waits && !IsOfHandles(type) && output(k)->Shape(&shape).ok();
    record->types.push_back(type);
    record->shapes.push_back(shape);
    record->zeros.push_back(knows_zeros ? nullptr : SecondHandle(output(k), waits, context));
  }
  if (!differentiable) return;
  std::vector<std::pair<const TensorHandle*, int>> second;
  if (record->plan != nullptr) {
    for (const EagerSource& source : record->plan->kept) {
      if (source.kind == EagerSource::kInput) {
        record->kept.push_back(NewRef(inputs[source.index].get()));
      } else {
        record->kept.push_back(SecondHandle(output(source.index), waits, context));
        second.emplace_back(record->kept.back().get(), source.index);
      }
    }
  }
  record->inputs = watched.ids;
  Locked([&](auto*) {
    const auto is_programs = [&](int k) { return k < record->num_outputs; };
    for (int k = 0; k < num_outputs; ++k) {
      const TensorId id = is_programs(k) ? FindOrName(output(k)) : ++last_id_;
      record->outputs.push_back(IsDifferentiable(record->types[k]) ? id : 0);
    }
    for (const auto& [handle, k] : second) {
      if (handle == output(k) && is_programs(k)) continue;
      names_[handle] = {record->outputs[k], /*is_programs=*/false};
    }
    for (TapeState* tape : watched.tapes) {
      // The tape may be gone by now.
      if (std::find(tapes_.begin(), tapes_.end(), tape) != tapes_.end() && tape->recording) {
        tape->recorded.Add(record);
      }
    }
  });
}

void Recorder::RecordCopy(EagerContext* context, TensorHandle* from, TensorHandle* to) {
  ImmediateExecutionTensorHandle* const input = from;
  const Watched watched = FindTapes(*context, absl::MakeConstSpan(&input, 1));
  if (watched.tapes.empty()) return;
  // The gradient of a copy is the upstream gradient.
  static const auto* const plan = [] {
    auto* made = new std::shared_ptr<EagerPlan>(new EagerPlan);
    (*made)->results.push_back(EagerSource{EagerSource::kUpstream, 0});
    (*made)->rows.resize(1);
    (*made)->has_results = true;
    (*made)->uses_upstream = {true};
    return made;
  }();
  auto record = std::make_shared<Record>();
  record->op = "TFE_TensorHandleCopyToDevice";
  record->plan = *plan;
  record->num_outputs = 1;
  AbstractTensorHandle* output = to;
  const bool waits = context->Executor().Async();
  AddRecord(watched, waits, context, {}, absl::MakeSpan(&output, 1), std::move(record));
}

absl::Status Recorder::Execute(EagerOperation* op, Outputs outputs, int* num_outputs) {
  if (IsTapeOp(*op)) return RunTapeOp(*op, outputs, num_outputs);
  for (const ImmediateExecutionTensorHandle* input : op->Inputs()) {
    if (!TensorHandle::classof(input)) return execute(op, outputs, num_outputs);
  }
  const Watched watched = FindTapes(op->EagerContext(), op->Inputs());
  if (watched.tapes.empty()) return execute(op, outputs, num_outputs);
  // Running the op may put copies on another device in the place of its inputs.
  std::vector<HandlePtr> inputs;
  for (ImmediateExecutionTensorHandle* input : op->Inputs()) {
    inputs.push_back(NewRef(tensorflow::TensorHandleFromInterface(input)));
    if (inputs.back()->Type() == TensorHandle::REMOTE) {
      return absl::UnimplementedError(
          absl::StrCat("A tape cannot record op ", op->Name(), ": its input ", inputs.size() - 1,
                       " is on another machine. Stop the tape, or copy the tensor to this one"));
    }
  }
  EagerContext* const context = &op->EagerContext();
  auto record = std::make_shared<Record>();
  record->op = op->Name();
  record->device = op->DeviceName();
  const bool waits = op->Executor().Async();
  const auto plan = FindEagerPlan(op, watched.inputs, watched.orders);
  record->error = plan.status();
  if (plan.ok()) record->plan = *plan;
  if (!plan.ok() || (*plan)->forward.empty()) {
    TF_RETURN_IF_ERROR(execute(op, outputs, num_outputs));
    if (plan.ok() && !(*plan)->has_results) return absl::OkStatus();
    record->num_outputs = *num_outputs;
    AddRecord(watched, waits, context, inputs, outputs.first(*num_outputs), std::move(record));
    return absl::OkStatus();
  }
  return ExecuteForward(watched, waits, context, inputs, outputs, num_outputs, std::move(record));
}

absl::Status Recorder::ExecuteForward(const Watched& watched, bool waits, EagerContext* context,
                                      const std::vector<HandlePtr>& inputs, Outputs outputs,
                                      int* num_outputs, RecordPtr record) {
  const EagerPlan& plan = *record->plan;
  const int most = *num_outputs;
  std::vector<std::vector<HandlePtr>> values;
  {
    const RunsForward unrecorded;
    TF_RETURN_IF_ERROR(RunSteps(
        context, plan.forward, {},
        [&](const EagerSource& source) {
          return source.kind == EagerSource::kInput ? inputs[source.index].get()
                                                    : plan.constants[source.index].get();
        },
        &values));
  }
  std::vector<AbstractTensorHandle*> all;
  for (const HandlePtr& value : values.back()) all.push_back(value.get());
  *num_outputs = plan.uses_upstream.size();
  if (*num_outputs > most) {
    return absl::InvalidArgumentError(absl::StrCat("Op ", record->op, " has ", *num_outputs,
                                                   " outputs, but there is room for ", most));
  }
  record->num_outputs = *num_outputs;
  AddRecord(watched, waits, context, inputs, absl::MakeSpan(all), record);
  for (int k = 0; k < *num_outputs; ++k) outputs[k] = values.back()[k].release();
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
