// The records of one tape. Not thread-safe: Recorder has the lock.
//
// TensorFlow's tensorflow/c/eager/tape.h does the same for Python. It is not used here, because it
// frees a chain of ops by recursion, which ends the process if the chain is long and the thread's
// stack small, and because it keeps every output that a gradient needs until the end.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/tape/eager_plan.h"

namespace tensorflow_ext {

// Names a tensor for as long as the process runs; 0 names none.
using TensorId = int64_t;

// One op that has run.
struct Record {
  std::string op;
  std::string device;
  // If the op has no gradient, the error that says so, and no plan.
  absl::Status error;
  std::shared_ptr<const EagerPlan> plan;
  // The program's. `outputs` also has those that only plan->forward returns.
  int num_outputs = 0;
  std::vector<TensorId> inputs, outputs;
  // The tensors that plan->kept names.
  std::vector<HandlePtr> kept;
  // For the zeros of a missing upstream gradient. A shape is unknown if the context is
  // asynchronous; then, and for lists, `zeros` has the output.
  std::vector<tensorflow::DataType> types;
  std::vector<tensorflow::TensorShape> shapes;
  std::vector<HandlePtr> zeros;
};
using RecordPtr = std::shared_ptr<Record>;

// Records to delete once the recorder's lock is free: the end of a record may delete handles, and
// the end of a handle removes records. A chain of ops ends without recursion, so its length does
// not matter to the stack.
class RemovedRecords {
 public:
  RemovedRecords() = default;
  RemovedRecords(const RemovedRecords&) = delete;
  RemovedRecords& operator=(const RemovedRecords&) = delete;
  ~RemovedRecords();

  void Add(RecordPtr record) { records_.push_back(std::move(record)); }

 private:
  std::vector<RecordPtr> records_;
};

class Recording {
 public:
  void Watch(TensorId id) { watched_.insert(id); }
  bool Watches(TensorId id) const { return watched_.count(id) > 0 || makers_.count(id) > 0; }

  // Adds a record; the tape watches its outputs from now on.
  void Add(RecordPtr record);

  // The program has deleted its last handle of the tensor. Removes the records that nobody needs.
  void Forget(TensorId id, RemovedRecords* removed);

  // The records on a path from a tensor of `x` to one of `y`, the last first.
  std::vector<RecordPtr> Between(const absl::flat_hash_set<TensorId>& x,
                                 const std::vector<TensorId>& y) const;

  // Empties the recording.
  void TakeAll(RemovedRecords* removed);

 private:
  absl::flat_hash_set<TensorId> watched_;
  // The record that made a tensor, by its number.
  absl::flat_hash_map<TensorId, int64_t> makers_;
  // How many records take the tensor, plus one while the program has it or, for an output that the
  // program never gets, has another one of its record.
  absl::flat_hash_map<TensorId, int64_t> uses_;
  std::map<int64_t, RecordPtr> records_;
  int64_t next_ = 0;
};

}  // namespace tensorflow_ext
