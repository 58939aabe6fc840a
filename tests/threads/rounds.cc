// Differentiates graphs repeatedly, from any number of threads.
//
//   rounds LIBRARY THREADS ROUNDS GRAPH_DEF...
//
// In a round a thread imports each GraphDef (a file), adds the gradient of y:0 by x:0, and deletes
// everything. In two of eight rounds it also makes a session, which takes most of the time, feeds
// four numbers to x and runs. In every other round, TfExt_InlineCalls first inlines the calls that
// lead to y:0. The gradients must equal those of the first round, bit by bit. A graph whose name
// begins with "changing_" differs in every round, as in a process that makes ever new graphs: the
// attribute max of each FakeQuantWithMinMaxArgs and the names of the functions change. Its calls
// stay.
//
// Prints the process's memory, in KiB, before the first round and after each tenth of them. Exit
// status: 0; 1, TensorFlow refuses something or a gradient differs; 2, wrong arguments.

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tensorflow/c/c_api.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using Values = std::vector<float>;

constexpr int64_t kSize = 4;
constexpr int kParts = 10;
constexpr int kMostChanged = 8;  // attributes, in a graph

template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

// TfExt_InlineCalls of gradient/c_api.h.
void (*inline_calls)(TF_Graph*, const TF_Output*, int, TF_Output*, TF_Status*);

void Require(bool holds, const char* what, const char* why = "") {
  if (holds) return;
  std::printf("%s: %s\n", what, why);
  std::fflush(stdout);
  _exit(1);
}

void Require(const TF_Status* status, const char* what) {
  Require(TF_GetCode(status) == TF_OK, what, TF_Message(status));
}

struct Subject {
  std::string name;
  GraphDef graph;
  bool changes;
  Values expected;  // of graphs that do not change
};

Subject Read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  Subject subject;
  subject.name = std::strrchr(path, '/') + 1;
  subject.changes = subject.name.rfind("changing_", 0) == 0;
  Require(subject.graph.ParseFromIstream(&file), path, "no GraphDef");
  return subject;
}

// `number` counts the nodes with such an attribute.
void Change(int round, NodeDef* node, int* number) {
  if (node->op() == "FakeQuantWithMinMaxArgs") {
    const int different = kMostChanged * round + (*number)++ % kMostChanged;
    (*node->mutable_attr())["max"].set_f(6 + 1e-6f * different);
  }
  for (auto& [name, value] : *node->mutable_attr()) {
    if (!value.has_func()) continue;
    value.mutable_func()->set_name(value.func().name() + "_" + std::to_string(round));
  }
}

void Change(int round, GraphDef* graph) {
  int number = 0;
  for (NodeDef& node : *graph->mutable_node()) Change(round, &node, &number);
  for (auto& function : *graph->mutable_library()->mutable_function()) {
    auto* signature = function.mutable_signature();
    signature->set_name(signature->name() + "_" + std::to_string(round));
    for (NodeDef& node : *function.mutable_node_def()) {
      Change(round, &node, &number);
    }
  }
}

TF_Output Find(TF_Graph* graph, const char* name) {
  TF_Operation* const operation = TF_GraphOperationByName(graph, name);
  Require(operation != nullptr, "no such node", name);
  return {operation, 0};
}

bool Runs(int round) { return round % 8 < 2; }

// Adds the gradient of y by x; returns its value if the round runs.
Values Differentiate(const Subject& subject, int round) {
  const char* const what = subject.name.c_str();
  const Owned<TF_Status> status(TF_NewStatus(), TF_DeleteStatus);
  const Owned<TF_Graph> graph(TF_NewGraph(), TF_DeleteGraph);
  {
    GraphDef changed = subject.graph;
    if (subject.changes) Change(round, &changed);
    const std::string bytes = changed.SerializeAsString();
    const Owned<TF_Buffer> buffer(TF_NewBufferFromString(bytes.data(), bytes.size()),
                                  TF_DeleteBuffer);
    const Owned<TF_ImportGraphDefOptions> options(TF_NewImportGraphDefOptions(),
                                                  TF_DeleteImportGraphDefOptions);
    TF_GraphImportGraphDef(graph.get(), buffer.get(), options.get(), status.get());
    Require(status.get(), what);
  }
  TF_Output x = Find(graph.get(), "x"), y = Find(graph.get(), "y"), dx;
  if (!subject.changes && round % 2 == 1) {
    inline_calls(graph.get(), &y, 1, &y, status.get());
    Require(status.get(), what);
  }
  TF_AddGradients(graph.get(), &y, 1, &x, 1, nullptr, status.get(), &dx);
  Require(status.get(), what);
  if (!Runs(round)) return {};

  const Owned<TF_SessionOptions> options(TF_NewSessionOptions(), TF_DeleteSessionOptions);
  TF_Session* session = TF_NewSession(graph.get(), options.get(), status.get());
  Require(status.get(), what);
  const Owned<TF_Tensor> input(TF_AllocateTensor(TF_FLOAT, &kSize, 1, kSize * sizeof(float)),
                               TF_DeleteTensor);
  const float numbers[] = {0.1f, -0.7f, 0.4f, 0.3f};
  std::memcpy(TF_TensorData(input.get()), numbers, sizeof(numbers));
  TF_Tensor* const feed = input.get();
  TF_Tensor* output = nullptr;
  TF_SessionRun(session, nullptr, &x, &feed, 1, &dx, &output, 1, nullptr, 0, nullptr, status.get());
  Require(status.get(), what);
  const Owned<TF_Tensor> result(output, TF_DeleteTensor);
  TF_DeleteSession(session, status.get());
  Require(status.get(), what);
  const auto* data = static_cast<const float*>(TF_TensorData(result.get()));
  return Values(data, data + TF_TensorByteSize(result.get()) / sizeof(float));
}

void DoRounds(const std::vector<Subject>& subjects, int first, int last) {
  for (int round = first; round < last; ++round) {
    for (const Subject& subject : subjects) {
      const Values gradient = Differentiate(subject, round);
      if (!Runs(round)) continue;
      Require(gradient.size() == kSize, subject.name.c_str(), "its size");
      Require(subject.changes || gradient == subject.expected, subject.name.c_str(),
              "a round has another gradient");
    }
  }
}

long Kilobytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 4 ? std::atoi(argv[2]) : 0;
  const int rounds = argc > 4 ? std::atoi(argv[3]) : 0;
  if (threads < 1 || rounds < kParts) {
    std::fprintf(stderr, "usage: %s LIBRARY THREADS ROUNDS GRAPH_DEF...\n", argv[0]);
    return 2;
  }
  const Owned<TF_Status> status(TF_NewStatus(), TF_DeleteStatus);
  TF_LoadLibrary(argv[1], status.get());
  Require(status.get(), argv[1]);
  inline_calls = reinterpret_cast<decltype(inline_calls)>(
      dlsym(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD), "TfExt_InlineCalls"));
  Require(inline_calls != nullptr, argv[1], "no TfExt_InlineCalls");
  std::vector<Subject> subjects;
  for (int i = 4; i < argc; ++i) subjects.push_back(Read(argv[i]));
  for (Subject& subject : subjects) {
    subject.expected = Differentiate(subject, 0);
  }
  std::printf("0 rounds: %ld KiB\n", Kilobytes());
  for (int part = 0; part < kParts; ++part) {
    const int first = rounds * part / kParts;
    const int last = rounds * (part + 1) / kParts;
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&] { DoRounds(subjects, first, last); });
    }
    for (std::thread& worker : workers) worker.join();
    std::printf("%d rounds: %ld KiB\n", last, Kilobytes());
    std::fflush(stdout);
  }
}
