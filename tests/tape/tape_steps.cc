// Trains with tapes for a long time, from any number of threads in one eager context.
//
//   tape_steps THREADS STEPS [OP | asynchronous]
//
// In a step each thread takes the gradient of a loss by its own variable and updates the variable,
// with a tape made by a function or by an op; takes a second order with nested tapes; asks a
// persistent tape, which lives for a fifth of the steps, for two gradients; makes tapes that it
// drops; and records on tapes that all threads share. Each gradient is compared with its formula.
//
// OP: an op whose derivative at 1 is 1. Each step runs it, too, and differentiates it. If it is
// LeakyRelu, its alpha changes in every step. With "asynchronous", the context only enqueues ops.
//
// Prints the process's memory, in KiB, before the first step and after each tenth of them. Exit
// status: 0; 1, a gradient is wrong or an op fails; 2, wrong arguments.

#include <malloc.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "tests/cc/eager.h"

namespace tensorflow_ext {
namespace {

constexpr int kParts = 10;
constexpr int kSize = 1000;  // elements of a tensor, so that 10,000 of them are 80 MB

bool IsNear(double found, double expected) { return std::abs(found - expected) < 1e-12; }

// A tape made by TfExt>NewTape, as languages that run ops by name do.
class TapeOfOps {
 public:
  explicit TapeOfOps(const Eager& eager) : eager_(eager), tape_(eager.Run("TfExt>NewTape", {})) {
    Control("resume");
  }
  ~TapeOfOps() { Control("delete"); }

  EagerTensor Gradient(const EagerTensor& y, const EagerTensor& x) {
    return eager_.Run("TfExt>TapeGradient", {tape_.get()}, [&](TFE_Op* op) {
      const c_objects_internal::Status status;
      TFE_TensorHandle* inputs[] = {y.get(), x.get()};
      for (TFE_TensorHandle*& input : inputs) TFE_OpAddInputList(op, &input, 1, status.get());
      TFE_OpAddInputList(op, nullptr, 0, status.get());
      const TF_DataType type = TF_DOUBLE;
      TFE_OpSetAttrTypeList(op, "Tdx", &type, 1);
      CheckOk(status.Get());
    });
  }

 private:
  void Control(const std::string& action) {
    eager_.RunAll("TfExt>TapeControl", {tape_.get()}, [&](TFE_Op* op) {
      TFE_OpSetAttrString(op, "action", action.data(), action.size());
    });
  }

  const Eager& eager_;
  const EagerTensor tape_;
};

// The tapes that all threads share, and a tensor of the first one. Any thread may stop, resume and
// reset the second one.
struct Shared {
  explicit Shared(const Eager& eager)
      : tape(Value(GradientTape::New(eager.context(), TFEXT_TAPE_PERSISTENT))),
        disturbed(Value(GradientTape::New(eager.context(), TFEXT_TAPE_PERSISTENT))),
        x(eager.Vector(Eager::Values(kSize, 3))) {
    CheckOk(tape.Watch(x.get()));
  }

  GradientTape tape, disturbed;
  const EagerTensor x;
};

class Worker {
 public:
  Worker(const Eager* eager, Shared* shared, int number, const char* op)
      : eager_(*eager),
        shared_(*shared),
        op_(op),
        variable_(eager->Variable("v" + std::to_string(number), Eager::Values(kSize, 1))),
        rate_(eager->Scalar(0.25)) {}

  void Step(int step, int steps_of_persistent) {
    Train(step);
    TakeSecondOrder();
    DropTapes();
    UsePersistent(step % steps_of_persistent == 0);
    UseShared();
    UseDisturbed(step);
    if (op_ != nullptr) UseOp();
  }

 private:
  GradientTape NewTape(uint32_t options = 0) {
    return Value(GradientTape::New(eager_.context(), options));
  }

  EagerTensor GradientOf(GradientTape& tape, const EagerTensor& y, const EagerTensor& x) {
    return std::move(Value(tape.Gradient({y.get()}, {x.get()}))[0]);
  }

  void CheckElement(const char* what, const EagerTensor& tensor, double expected) {
    const double found = eager_.ValuesOf(tensor).back();
    Check(IsNear(found, expected), std::string(what) + ": expected " + std::to_string(expected) +
                                       ", got " + std::to_string(found));
  }

  // loss = sum(v^2), so each step halves the variable, and restores it when it is small.
  void Train(int step) {
    const auto loss_of = [&] {
      const EagerTensor v = eager_.Read(variable_);
      return eager_.Sum(eager_.Product(v, v));
    };
    EagerTensor gradient;
    if (step % 2 == 0) {
      GradientTape tape = NewTape();
      const EagerTensor loss = loss_of();
      gradient = GradientOf(tape, loss, variable_);
    } else {
      TapeOfOps tape(eager_);
      const EagerTensor loss = loss_of();
      gradient = tape.Gradient(loss, variable_);
    }
    CheckElement("training", gradient, 2 * value_);
    eager_.RunAll("ResourceApplyGradientDescent", {variable_.get(), rate_.get(), gradient.get()});
    value_ /= 2;
    if (value_ > 0.01) return;
    eager_.RunAll("AssignVariableOp",
                  {variable_.get(), eager_.Vector(Eager::Values(kSize, 1)).get()});
    value_ = 1;
  }

  void TakeSecondOrder() {
    const EagerTensor x = eager_.Vector(Eager::Values(kSize, 0.5));
    GradientTape outer = NewTape(), inner = NewTape();
    CheckOk(outer.Watch(x.get()));
    CheckOk(inner.Watch(x.get()));
    const EagerTensor y = eager_.Run("Tanh", {x.get()});
    const EagerTensor dx = GradientOf(inner, y, x);
    const double tanh = std::tanh(0.5);
    CheckElement("first order", dx, 1 - tanh * tanh);
    CheckElement("second order", GradientOf(outer, dx, x), -2 * tanh * (1 - tanh * tanh));
  }

  // Tapes that are deleted before their tensors and after, and one that gives an error.
  void DropTapes() {
    const EagerTensor x = eager_.Vector(Eager::Values(kSize, 2));
    EagerTensor y;
    {
      GradientTape before = NewTape();
      CheckOk(before.Watch(x.get()));
      y = eager_.Product(x, x);
    }
    GradientTape after = NewTape();
    {
      const EagerTensor z = eager_.Vector(Eager::Values(kSize, 2));
      CheckOk(after.Watch(z.get()));
      y = eager_.Product(z, y);
    }
    const absl::Status error = after.Gradient({y.get()}, {x.get()}).status();
    Check(absl::StrContains(error.message(), "x[0] is no tensor that the tape watches"),
          error.ToString());
  }

  void UsePersistent(bool renew) {
    if (renew) persistent_.emplace(NewTape(TFEXT_TAPE_PERSISTENT));
    const EagerTensor x = eager_.Vector(Eager::Values(kSize, 3));
    CheckOk(persistent_->Watch(x.get()));
    const EagerTensor square = eager_.Product(x, x), cube = eager_.Product(square, x);
    CheckElement("persistent", GradientOf(*persistent_, square, x), 6);
    CheckElement("persistent again", GradientOf(*persistent_, cube, x), 27);
  }

  void UseShared() {
    const EagerTensor sin = eager_.Copy(eager_.Run("Sin", {shared_.x.get()}));
    const EagerTensor y = eager_.Product(shared_.x, sin);
    CheckElement("shared", GradientOf(shared_.tape, y, shared_.x), std::sin(3) + 3 * std::cos(3));
  }

  // The tape has recorded all or nothing of what ran meanwhile.
  void UseDisturbed(int step) {
    const EagerTensor x = eager_.Vector(Eager::Values(kSize, 2));
    CheckOk(shared_.disturbed.Watch(x.get()));
    const EagerTensor y = eager_.Product(x, x);
    if (step % 3 == 0) CheckOk(shared_.disturbed.Reset());
    if (step % 5 == 0) CheckOk(shared_.disturbed.Stop());
    const auto gradients = shared_.disturbed.Gradient({y.get()}, {x.get()});
    CheckOk(shared_.disturbed.Resume());
    if (!gradients.ok()) {
      Check(absl::StrContains(gradients.status().message(), "is no tensor that the tape watches"),
            gradients.status().ToString());
    } else if ((*gradients)[0] != nullptr) {
      CheckElement("disturbed", (*gradients)[0], 4);
    }
  }

  void UseOp() {
    GradientTape tape = NewTape();
    // Each shape has a plan of its own.
    const EagerTensor x = eager_.Vector(Eager::Values(1 + num_ops_++ % 50, 1));
    CheckOk(tape.Watch(x.get()));
    const EagerTensor y = eager_.Run(op_, {x.get()}, [&](TFE_Op* op) {
      if (op_ != std::string("LeakyRelu")) return;
      TFE_OpSetAttrFloat(op, "alpha", 1e-6f * static_cast<float>(num_ops_));
    });
    CheckElement(op_, GradientOf(tape, y, x), 1);
  }

  const Eager& eager_;
  Shared& shared_;
  const char* const op_;
  const EagerTensor variable_, rate_;
  double value_ = 1;
  int num_ops_ = 0;
  std::optional<GradientTape> persistent_;
};

void PrintMemory(const Eager& eager, int steps) {
  // TensorFlow keeps every kernel, whose attributes may change.
  TFE_ContextClearCaches(eager.context());
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  std::printf("%d steps: %ld KiB\n", steps, resident * (sysconf(_SC_PAGESIZE) / 1024));
  std::fflush(stdout);
}

void Run(int threads, int steps, const char* op) {
  const bool asynchronous = op != nullptr && op == std::string("asynchronous");
  if (asynchronous) op = nullptr;
  const Eager eager(asynchronous);
  Shared shared(eager);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<Worker>(&eager, &shared, i, op));
  }
  PrintMemory(eager, 0);
  for (int part = 0; part < kParts && failures == 0; ++part) {
    const int first = steps * part / kParts, last = steps * (part + 1) / kParts;
    std::vector<std::thread> running;
    for (const std::unique_ptr<Worker>& worker : workers) {
      running.emplace_back([&] {
        for (int step = first; step < last && failures == 0; ++step) {
          worker->Step(step, steps / 5);
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    PrintMemory(eager, last);
  }
}

}  // namespace
}  // namespace tensorflow_ext

int main(int argc, char** argv) {
  const int threads = argc > 2 ? std::atoi(argv[1]) : 0;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 0;
  if (threads < 1 || steps < tensorflow_ext::kParts) {
    std::fprintf(stderr, "usage: %s THREADS STEPS [OP | asynchronous], at least %d steps\n",
                 argv[0], tensorflow_ext::kParts);
    return 2;
  }
  tensorflow_ext::Run(threads, steps, argc > 3 ? argv[3] : nullptr);
  return tensorflow_ext::ExitStatus();
}
