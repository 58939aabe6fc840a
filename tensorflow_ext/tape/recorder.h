// Sees the ops of eager contexts and gives them to the tapes.
//
// How it sees them: it replaces three virtual functions of TensorFlow's classes in the process
// (virtual_functions.h): that which runs an op, that which copies a tensor to a device, and that
// which says that a tensor is deleted. The other ways:
//   - A custom device (TFE_RegisterCustomDevice) makes each tensor one of the device's own, and
//   each
//     op that it is given runs as a second op below.
//   - EagerOpRewriteRegistry sees an op before it runs, and never its outputs.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "tensorflow_ext/tape/recording.h"

namespace tensorflow_ext {

// A tape. Guarded by the recorder's lock.
struct TapeState {
  // Null until the first op that names the tape, if an op made it (tape_ops.cc).
  tensorflow::EagerContext* context = nullptr;
  bool persistent = false;
  bool watches_variables = true;
  std::thread::id thread;
  bool recording = true;
  bool used_up = false;
  Recording recorded;
};

class Recorder {
 public:
  using Handle = tensorflow::ImmediateExecutionTensorHandle;

  static Recorder& Get();

  // Starts to see eager ops, at the first call. kFailedPrecondition if that is not possible.
  absl::Status Start();

  void Add(TapeState* tape);
  void Remove(TapeState* tape);
  // True if any tape exists.
  bool IsNeeded() const { return num_tapes_.load(std::memory_order_relaxed) > 0; }

  // Runs `body` with the lock. It may move records to its argument.
  template <typename Body>
  auto Locked(Body body) {
    RemovedRecords removed;
    const std::lock_guard<std::mutex> lock(mutex_);
    return body(&removed);
  }

  // With the lock: the id of a tensor, 0 if it has none.
  TensorId Find(const Handle* handle) const;
  // The same, with a new id if it has none.
  TensorId FindOrName(const Handle* handle);

  // Runs an op, and records it if a tape watches one of its inputs.
  absl::Status Execute(tensorflow::EagerOperation* op,
                       absl::Span<tensorflow::AbstractTensorHandle*> outputs, int* num_outputs);

  // Records that `to` is a copy of `from`.
  void RecordCopy(tensorflow::EagerContext* context, tensorflow::TensorHandle* from,
                  tensorflow::TensorHandle* to);

  // The program has deleted the handle.
  void Forget(const Handle* handle);

 private:
  struct Watched;

  // The tapes that record an op with these inputs.
  Watched FindTapes(const tensorflow::EagerContext& context, absl::Span<Handle* const> inputs);

  // Gives them what has run. `waits`: the context is asynchronous, so do not ask for a shape.
  void AddRecord(const Watched& watched, bool waits, tensorflow::EagerContext* context,
                 const std::vector<HandlePtr>& inputs,
                 absl::Span<tensorflow::AbstractTensorHandle*> outputs, RecordPtr record);

  // Runs the plan's steps in place of the op.
  absl::Status ExecuteForward(const Watched& watched, bool waits, tensorflow::EagerContext* context,
                              const std::vector<HandlePtr>& inputs,
                              absl::Span<tensorflow::AbstractTensorHandle*> outputs,
                              int* num_outputs, RecordPtr record);

  mutable std::mutex mutex_;
  std::atomic<int> num_tapes_{0};
  std::vector<TapeState*> tapes_;
  // The ids of the tensors that tapes know. The second handle that a record makes of a tensor is
  // not the program's.
  struct Named {
    TensorId id;
    bool is_programs;
  };
  absl::flat_hash_map<const Handle*, Named> names_;
  TensorId last_id_ = 0;
};

}  // namespace tensorflow_ext
