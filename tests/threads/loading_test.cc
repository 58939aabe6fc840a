// Loads libraries while other threads differentiate, repeatedly, each time in a new process.
//
//   loading_test RUNS LIBRARY...
//
// The environment variable LOADING_RUNS replaces RUNS.
//
// A run forks this process, which has loaded TensorFlow and has no threads yet. Two threads of the
// child differentiate graphs of many ops by TF_AddGradients. One looks up every op of TensorFlow's
// client registry, and one looks up every op of the function registry, as a session that runs a
// SymbolicGradient does. Meanwhile the first thread loads the libraries. Prints a line for each run
// that fails. Exit status: 0, all runs passed; 1, some failed; 2, wrong arguments.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tensorflow/c/c_api.h"
#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"

namespace {

using tensorflow::gradient::Creator;
using tensorflow::gradient::GetOpGradientCreator;

// Ops of one input and one output of the same type, with TensorFlow's own gradients for C and C++.
constexpr const char* kOps[] = {
    "Abs",  "Acos",   "Asin",  "Atan",       "Cos",        "Cosh",     "Elu",
    "Erf",  "Exp",    "Expm1", "Inv",        "Lgamma",     "Log",      "Log1p",
    "Neg",  "Relu",   "Relu6", "Reciprocal", "Rsqrt",      "Selu",     "Sigmoid",
    "Sign", "Sin",    "Sinh",  "Softmax",    "LogSoftmax", "Softplus", "Softsign",
    "Sqrt", "Square", "Tan",   "Tanh",       "Identity",   "ZerosLike"};

// Ops that also have a function gradient in TensorFlow.
constexpr const char* kFunctions[] = {"Abs", "Exp",  "Log",     "Neg",   "Relu",
                                      "Sin", "Sqrt", "Sigmoid", "Square"};

// The ops in TensorFlow's registries before any library is loaded.
struct Known {
  std::vector<std::string> with_client_gradient;
  std::vector<std::string> with_function_gradient;
};

bool HasClientGradient(const std::string& op) {
  tensorflow::ops::GradFunc gradient;
  return tensorflow::ops::GradOpRegistry::Global()->Lookup(op, &gradient).ok();
}

bool HasFunctionGradient(const std::string& op) {
  Creator creator;
  return GetOpGradientCreator(op, &creator).ok() && creator;
}

Known FindKnown() {
  std::vector<tensorflow::OpDef> op_defs;
  tensorflow::OpRegistry::Global()->GetRegisteredOps(&op_defs);
  Known known;
  for (const tensorflow::OpDef& op_def : op_defs) {
    const std::string& op = op_def.name();
    if (HasClientGradient(op)) known.with_client_gradient.push_back(op);
    if (HasFunctionGradient(op)) known.with_function_gradient.push_back(op);
  }
  return known;
}

// A round returns what went wrong, or nothing.

std::string Differentiate() {
  const std::unique_ptr<TF_Status, void (*)(TF_Status*)> status(TF_NewStatus(), TF_DeleteStatus);
  const std::unique_ptr<TF_Graph, void (*)(TF_Graph*)> graph(TF_NewGraph(), TF_DeleteGraph);
  TF_OperationDescription* description = TF_NewOperation(graph.get(), "Placeholder", "x");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_Output x = {TF_FinishOperation(description, status.get()), 0};
  TF_Output y = x;
  for (const char* op : kOps) {
    description = TF_NewOperation(graph.get(), op, op);
    TF_AddInput(description, y);
    y.oper = TF_FinishOperation(description, status.get());
    if (TF_GetCode(status.get()) != TF_OK) return TF_Message(status.get());
  }
  TF_Output dx;
  TF_AddGradients(graph.get(), &y, 1, &x, 1, nullptr, status.get(), &dx);
  if (TF_GetCode(status.get()) != TF_OK) return TF_Message(status.get());
  return "";
}

std::string LookUpClientGradients(const Known& known) {
  for (const std::string& op : known.with_client_gradient) {
    if (!HasClientGradient(op)) return "the client registry has lost " + op;
  }
  return "";
}

std::string LookUpFunctionGradients(const Known& known) {
  for (const std::string& op : known.with_function_gradient) {
    if (!HasFunctionGradient(op)) return "the function registry has lost " + op;
  }
  tensorflow::AttrValueMap attributes;
  attributes["T"].set_type(tensorflow::DT_FLOAT);
  for (const char* op : kFunctions) {
    Creator creator;
    if (!GetOpGradientCreator(op, &creator).ok()) {
      return std::string("no creator of ") + op;
    }
    tensorflow::FunctionDef function;
    const absl::Status status = creator(tensorflow::AttrSlice(&attributes), &function);
    if (!status.ok()) return std::string(status.message());
    if (function.node_def_size() == 0) return std::string("no body of ") + op;
  }
  return "";
}

// One run, in a process of its own.
std::string Run(const Known& known, const std::vector<const char*>& libraries, int seed) {
  alarm(60);  // A list that has lost its end keeps a reader forever.
  std::atomic<int> started{0};
  std::atomic<bool> ends{false};
  const std::vector<std::function<std::string()>> rounds = {
      Differentiate, Differentiate, [&] { return LookUpClientGradients(known); },
      [&] { return LookUpFunctionGradients(known); }};
  std::vector<std::string> faults(rounds.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < rounds.size(); ++i) {
    threads.emplace_back([&, i] {
      bool last = false;
      while (faults[i].empty() && !last) {
        // A full round starts after everything is loaded.
        last = ends;
        faults[i] = rounds[i]();
        if (started < static_cast<int>(rounds.size())) ++started;
      }
    });
  }
  while (started < static_cast<int>(rounds.size())) std::this_thread::yield();
  std::mt19937 random(seed);
  std::string fault;
  for (const char* library : libraries) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    TF_Status* status = TF_NewStatus();
    TF_LoadLibrary(library, status);
    if (TF_GetCode(status) != TF_OK) fault = TF_Message(status);
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& other : faults) {
    if (!other.empty()) fault = other;
  }
  return fault;
}

// True if a run, in a separate process, passes.
bool RunInChild(const Known& known, const std::vector<const char*>& libraries, int seed) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const std::string fault = Run(known, libraries, seed);
    if (!fault.empty()) std::printf("run %d: %s\n", seed, fault.c_str());
    std::fflush(stdout);
    _exit(fault.empty() ? 0 : 1);
  }
  int exit = 0;
  if (waitpid(child, &exit, 0) != child) {
    std::perror("waitpid");
    return false;
  }
  if (WIFSIGNALED(exit)) {
    std::printf("run %d: %s\n", seed, strsignal(WTERMSIG(exit)));
  }
  return WIFEXITED(exit) && WEXITSTATUS(exit) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* given = std::getenv("LOADING_RUNS");
  const int runs = argc < 3 ? 0 : std::atoi(given != nullptr ? given : argv[1]);
  if (runs < 1) {
    std::fprintf(stderr, "usage: %s RUNS LIBRARY...\n", argv[0]);
    return 2;
  }
  const Known known = FindKnown();
  const std::vector<const char*> libraries(argv + 2, argv + argc);
  int failed = 0;
  for (int run = 0; run < runs; ++run) {
    failed += RunInChild(known, libraries, run) ? 0 : 1;
  }
  std::printf("%d runs, %d failed\n", runs, failed);
  return failed == 0 ? 0 : 1;
}
