#include "tensorflow_ext/gradient/functions/differentiate_function.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/graph_to_functiondef.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/platform/fingerprint.h"
#include "tensorflow_ext/gradient/functions/custom_gradients.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"
#include "tensorflow_ext/gradient/functions/gradient_body.h"
#include "tensorflow_ext/gradient/functions/inline_calls.h"
#include "tensorflow_ext/gradient/functions/rerun.h"
#include "tensorflow_ext/gradient/plan/plan.h"
#include "tensorflow_ext/gradient/registry/named_gradient.h"

namespace tensorflow_ext {

using tensorflow::DataTypeVector;
using tensorflow::FunctionBody;
using tensorflow::FunctionDef;
using tensorflow::FunctionDefLibrary;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::NameAttrList;

namespace {

// The function, the functions it calls, and the function's gradient named by `library`.
absl::StatusOr<FunctionLibraryDefinition> Called(const FunctionLibraryDefinition& library,
                                                 const std::string& function) {
  TF_ASSIGN_OR_RETURN(FunctionLibraryDefinition reachable, library.ReachableDefinitions(function));
  TF_RETURN_IF_ERROR(reachable.CopyFunctionDefFrom(function, library));
  tensorflow::GradientDef gradient;
  gradient.set_function_name(function);
  gradient.set_gradient_func(library.FindGradient(function));
  if (gradient.gradient_func().empty()) return reachable;
  TF_ASSIGN_OR_RETURN(FunctionLibraryDefinition more,
                      library.ReachableDefinitions(gradient.gradient_func()));
  TF_RETURN_IF_ERROR(reachable.AddLibrary(more));
  TF_RETURN_IF_ERROR(reachable.CopyFunctionDefFrom(gradient.gradient_func(), library));
  if (reachable.FindGradient(function).empty()) {
    TF_RETURN_IF_ERROR(reachable.AddGradientDef(gradient));
  }
  return reachable;
}

// The same, with the gradients that a model brings.
absl::StatusOr<FunctionLibraryDefinition> Reachable(const FunctionLibraryDefinition& library,
                                                    const std::string& function) {
  TF_ASSIGN_OR_RETURN(FunctionLibraryDefinition reachable, Called(library, function));
  TF_RETURN_IF_ERROR(CopyRecords(library, &reachable));
  return reachable;
}

// Everything that a gradient depends on.
std::string Key(const FunctionLibraryDefinition& reachable, const NameAttrList& function,
                const DataTypeVector& upstream, const DataTypeVector& required) {
  std::vector<std::string> parts;
  for (const std::string& name : reachable.ListFunctionNames()) {
    const auto record = reachable.FindRecord(name);
    parts.push_back(absl::StrCat(name, " ", tensorflow::FunctionDefHash(record->fdef()), " ",
                                 reachable.FindGradient(name)));
  }
  // Maps have no order.
  for (const auto& [name, value] : function.attr()) {
    parts.push_back(absl::StrCat(name, " ", tensorflow::FastAttrValueHash(value)));
  }
  std::sort(parts.begin(), parts.end());
  return absl::StrCat(function.name(), "\n", absl::StrJoin(parts, "\n"), "\n",
                      absl::StrJoin(upstream, ","), "\n", absl::StrJoin(required, ","), "\n",
                      TimesPlansWereDropped(), AllowsMissingGradients() ? "\nallows missing" : "");
}

// Adds `function`, whose body is `graph`, and the functions that it calls to a library. It runs as
// `like` does.
absl::Status AddFunction(FunctionDef function, const Graph& graph, const FunctionDef& like,
                         FunctionDefLibrary* to) {
  for (const char* attribute : {"_XlaMustCompile", "_noinline"}) {
    const auto found = like.attr().find(attribute);
    if (found != like.attr().end()) (*function.mutable_attr())[attribute] = found->second;
  }
  FunctionLibraryDefinition library = graph.flib_def().ReachableDefinitions(function);
  for (const std::string& called : library.ListFunctionNames()) {
    if (absl::c_any_of(to->function(), [&called](const FunctionDef& other) {
          return other.signature().name() == called;
        })) {
      TF_RETURN_IF_ERROR(library.RemoveFunction(called));
    }
  }
  to->MergeFrom(library.ToProto());
  *to->add_function() = std::move(function);
  return absl::OkStatus();
}

absl::StatusOr<FunctionWithGradients> Make(const FunctionLibraryDefinition& reachable,
                                           const FunctionDef& definition,
                                           const NameAttrList& function, const std::string& key,
                                           const DataTypeVector& upstream,
                                           const DataTypeVector& required) {
  FunctionWithGradients made;
  made.runs_again = CheckImplementations(reachable);
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<FunctionBody> body,
                      BodyWithGradients(reachable, definition, function));
  if (body->ret_nodes.size() != upstream.size()) {
    return absl::InvalidArgumentError(absl::StrCat("it has ", body->ret_nodes.size(),
                                                   " results where the node that calls it has ",
                                                   upstream.size()));
  }
  TF_RETURN_IF_ERROR(InlineCalls(reachable, function.name(), body->graph));
  GradientBody gradient(reachable, function, *body, upstream, required);
  TF_RETURN_IF_ERROR(gradient.Build(/*with_forward=*/!made.runs_again.ok()));
  const std::string fingerprint =
      absl::StrCat(absl::Hex(tensorflow::Fingerprint64(key), absl::kZeroPad16));
  made.name = absl::StrCat(function.name(), "_gradient_", fingerprint);
  made.gradients = gradient.gradients();
  made.runs_again.Update(gradient.runs_again());
  made.kept = gradient.kept();
  made.forward_types = gradient.kept_types();
  FunctionDef gradient_def;
  TF_RETURN_IF_ERROR(tensorflow::GraphToFunctionDef(gradient.graph(), made.name, &gradient_def));
  TF_RETURN_IF_ERROR(
      AddFunction(std::move(gradient_def), gradient.graph(), definition, &made.library));
  if (gradient.forward() == nullptr) return made;
  made.forward = absl::StrCat(function.name(), "_forward_", fingerprint);
  TF_ASSIGN_OR_RETURN(FunctionDef forward_def,
                      ToFunctionWithEffects(*gradient.forward(), made.forward));
  TF_RETURN_IF_ERROR(
      AddFunction(std::move(forward_def), *gradient.forward(), definition, &made.library));
  return made;
}

// Keeps the gradients of functions.
class Cache {
 public:
  using Entry = std::shared_ptr<const FunctionWithGradients>;

  static Cache& Global() {
    // Never destroyed: clients may differentiate while the process ends.
    static Cache* cache = new Cache;
    return *cache;
  }

  Entry Find(const std::string& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second;
  }

  void Insert(const std::string& key, Entry entry) {
    const size_t bytes = entry->library.SpaceUsedLong();
    std::lock_guard<std::mutex> lock(mutex_);
    // A process that keeps making new functions must not fill the memory.
    if (entries_.size() >= kMaxEntries || bytes_ + bytes > kMaxBytes) {
      entries_.clear();
      bytes_ = 0;
    }
    if (entries_.emplace(key, std::move(entry)).second) bytes_ += bytes;
  }

 private:
  static constexpr size_t kMaxEntries = 512;
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  std::mutex mutex_;
  size_t bytes_ = 0;
  std::map<std::string, Entry> entries_;
};

// The gradients that this thread is making, each a part of the previous one.
class InProgress {
 public:
  explicit InProgress(const std::string& key) { Keys().push_back(key); }
  ~InProgress() { Keys().pop_back(); }
  InProgress(const InProgress&) = delete;
  InProgress& operator=(const InProgress&) = delete;

  static bool Contains(const std::string& key) {
    return std::count(Keys().begin(), Keys().end(), key) > 0;
  }

 private:
  static std::vector<std::string>& Keys() {
    thread_local std::vector<std::string> keys;
    return keys;
  }
};

}  // namespace

absl::Status CheckNothingKept(const FunctionWithGradients& gradient) {
  const absl::Status& why = gradient.runs_again;
  if (why.ok()) return absl::OkStatus();
  return absl::Status(why.code(),
                      absl::StrCat(why.message(),
                                   ". Take a stateless op, such as StatelessRandomNormalV2 for "
                                   "RandomStandardNormal, or make its value outside of the "
                                   "function and hand it in as an argument"));
}

absl::StatusOr<std::shared_ptr<const FunctionWithGradients>> DifferentiateFunction(
    const FunctionLibraryDefinition& library, const NameAttrList& function,
    const DataTypeVector& upstream, const DataTypeVector& required) {
  const auto record = library.FindRecord(function.name());
  if (!record) {
    return absl::NotFoundError(
        absl::StrCat("Function '", function.name(), "' is not in the graph's library"));
  }
  TF_ASSIGN_OR_RETURN(const FunctionLibraryDefinition reachable,
                      Reachable(library, function.name()));
  const std::string key = Key(reachable, function, upstream, required);
  if (auto found = Cache::Global().Find(key)) return found;
  absl::StatusOr<FunctionWithGradients> made = absl::UnimplementedError("it calls itself");
  if (!InProgress::Contains(key)) {
    // Made outside the lock: it calls other gradients.
    const InProgress in_progress(key);
    made = Make(reachable, record->fdef(), function, key, upstream, required);
  }
  if (!made.ok()) {
    return absl::Status(made.status().code(),
                        absl::StrCat("In the gradient of function '", function.name(),
                                     "': ", made.status().message()));
  }
  auto entry = std::make_shared<const FunctionWithGradients>(*std::move(made));
  Cache::Global().Insert(key, entry);
  return entry;
}

}  // namespace tensorflow_ext
