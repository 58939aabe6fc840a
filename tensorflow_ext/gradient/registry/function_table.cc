// gradient::RegisterOp() ends the process if an op already has a gradient, and a third of
// TensorFlow's own are wrong or fail (docs/known_differences.md). The function runtime would keep
// using these.

#include "tensorflow_ext/gradient/registry/function_table.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/registry/named_gradient.h"
#include "tensorflow_ext/gradient/registry/precedence.h"
#include "tensorflow_ext/gradient/registry/readable_table.h"

namespace tensorflow::gradient {

// The table of RegisterOp(), which TensorFlow exports but declares in no header. Weak: null in a
// TensorFlow without it, which then keeps its gradients.
[[gnu::weak]] std::unordered_map<std::string, Creator>* GetOpGradFactory();

}  // namespace tensorflow::gradient

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::FunctionDef;
using tensorflow::gradient::GetOpGradFactory;

namespace {

using Table = std::unordered_map<std::string, GradientCreator>;

// A creator that can be replaced while threads run it or copy it from the table. A std::function
// has several words, so a plain assignment could be torn.
class Replaceable {
 public:
  explicit Replaceable(const GradientCreator& creator)
      : current_(new std::atomic(new GradientCreator(creator))) {}

  absl::Status operator()(const AttrSlice& attrs, FunctionDef* gradient) const {
    TF_RETURN_IF_ERROR(CheckNamesNoGradient("a node", attrs));
    return Current()(attrs, gradient);
  }

  const GradientCreator& Current() const { return *current_->load(); }

  // The old creator is not freed: threads may be in it.
  void Replace(const GradientCreator& creator) const {
    current_->store(new GradientCreator(creator));
  }

 private:
  std::atomic<GradientCreator*>* current_;
};

GradientCreator Entry(const GradientCreator& creator) {
  if (!creator) return nullptr;
  return Replaceable(creator);
}

Table& FunctionTable() {
  static Table& table = []() -> Table& {
    Table& table = *GetOpGradFactory();
    MakeReadable(table, [](Table& copy) {
      for (auto& [op, creator] : copy) creator = Entry(creator);
    });
    return table;
  }();
  return table;
}

// Keeps our own writers apart.
std::mutex& TableMutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

// True if TensorFlow registered the entry, or the entry says "no gradient".
bool IsTensorFlowsEntry(const GradientCreator& entry) {
  if (!entry) return true;
  const auto* replaceable = entry.target<Replaceable>();
  const auto* function = (replaceable == nullptr ? entry : replaceable->Current())
                             .target<absl::Status (*)(const AttrSlice&, FunctionDef*)>();
  return function != nullptr && IsTensorFlows(reinterpret_cast<const void*>(*function));
}

void Replace(const std::string& op, const GradientCreator& creator) {
  const auto* entry = FunctionTable().at(op).target<Replaceable>();
  if (entry != nullptr && creator) {
    entry->Replace(creator);
    return;
  }
  // The old or the new entry says "no gradient", or TensorFlow's macro added the old one in a
  // library that was loaded later. Such ops are few, so each may copy the table.
  PutChangedCopyInPlace(FunctionTable(),
                        [&op, &creator](Table& copy) { copy.at(op) = Entry(creator); });
}

}  // namespace

size_t NumFunctionGradients() { return GetOpGradFactory == nullptr ? 0 : FunctionTable().size(); }

bool AddToFunctionTable(const std::string& op, const GradientCreator& creator) {
  if (GetOpGradFactory == nullptr) {
    return tensorflow::gradient::RegisterOp(op, creator);
  }
  const std::lock_guard<std::mutex> lock(TableMutex());
  return FunctionTable().emplace(op, Entry(creator)).second;
}

bool ReplaceInFunctionTable(const std::string& op, const GradientCreator& creator) {
  if (GetOpGradFactory == nullptr || KeepsTensorFlows()) return false;
  const std::lock_guard<std::mutex> lock(TableMutex());
  const auto entry = FunctionTable().find(op);
  if (entry == FunctionTable().end() || !IsTensorFlowsEntry(entry->second)) {
    return false;
  }
  Replace(op, creator);
  return true;
}

bool PutIntoFunctionTable(const std::string& op, const GradientCreator& creator) {
  if (GetOpGradFactory == nullptr) return false;
  const std::lock_guard<std::mutex> lock(TableMutex());
  if (FunctionTable().find(op) != FunctionTable().end())
    Replace(op, creator);
  else
    FunctionTable().emplace(op, Entry(creator));
  return true;
}

}  // namespace tensorflow_ext
