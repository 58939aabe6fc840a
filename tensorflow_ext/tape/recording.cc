#include "tensorflow_ext/tape/recording.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"

namespace tensorflow_ext {

RemovedRecords::~RemovedRecords() {
  // The records that this thread is about to delete, while it deletes any.
  thread_local std::vector<RecordPtr>* open = nullptr;
  if (open != nullptr) {
    for (RecordPtr& record : records_) open->push_back(std::move(record));
    return;
  }
  open = &records_;
  while (!records_.empty()) {
    RecordPtr last = std::move(records_.back());
    records_.pop_back();
    last = nullptr;  // may add to records_
  }
  open = nullptr;
}

void Recording::Add(RecordPtr record) {
  const int64_t number = next_++;
  for (const TensorId id : record->inputs) {
    if (Watches(id)) ++uses_[id];
  }
  for (const TensorId id : record->outputs) {
    if (id == 0) continue;
    makers_[id] = number;
    uses_[id] = 1;
  }
  records_.emplace(number, std::move(record));
}

void Recording::Forget(TensorId id, RemovedRecords* removed) {
  watched_.erase(id);
  std::vector<TensorId> unused = {id};
  while (!unused.empty()) {
    const TensorId last = unused.back();
    unused.pop_back();
    const auto uses = uses_.find(last);
    if (uses == uses_.end() || --uses->second > 0) continue;
    uses_.erase(uses);
    const auto maker = makers_.find(last);
    if (maker == makers_.end()) continue;
    const auto record = records_.find(maker->second);
    makers_.erase(maker);
    const std::vector<TensorId>& outputs = record->second->outputs;
    const auto first_other = outputs.begin() + record->second->num_outputs;
    const auto is_used = [&](TensorId output) { return makers_.count(output) > 0; };
    if (std::find(outputs.begin(), first_other, last) != first_other &&
        std::none_of(outputs.begin(), first_other, is_used)) {
      for (auto other = first_other; other != outputs.end(); ++other) {
        if (*other != 0) unused.push_back(*other);
      }
    }
    if (absl::c_any_of(outputs, is_used)) continue;
    for (const TensorId input : record->second->inputs) {
      if (input != 0) unused.push_back(input);
    }
    removed->Add(std::move(record->second));
    records_.erase(record);
  }
}

std::vector<RecordPtr> Recording::Between(const absl::flat_hash_set<TensorId>& x,
                                          const std::vector<TensorId>& y) const {
  // Inputs have lower numbers than outputs, so the numbers order the records.
  std::set<int64_t> leading;
  std::vector<TensorId> open(y);
  while (!open.empty()) {
    const auto maker = makers_.find(open.back());
    open.pop_back();
    if (maker == makers_.end() || !leading.insert(maker->second).second) continue;
    const Record& record = *records_.at(maker->second);
    open.insert(open.end(), record.inputs.begin(), record.inputs.end());
  }
  std::vector<RecordPtr> between;
  absl::flat_hash_set<TensorId> reached(x);
  for (const int64_t number : leading) {
    const RecordPtr& record = records_.at(number);
    if (!absl::c_any_of(record->inputs, [&](TensorId id) { return reached.count(id) > 0; })) {
      continue;
    }
    for (const TensorId output : record->outputs) {
      if (output != 0) reached.insert(output);
    }
    between.push_back(record);
  }
  std::reverse(between.begin(), between.end());
  return between;
}

void Recording::TakeAll(RemovedRecords* removed) {
  for (auto& [number, record] : records_) removed->Add(std::move(record));
  records_.clear();
  makers_.clear();
  uses_.clear();
  watched_.clear();
}

}  // namespace tensorflow_ext
