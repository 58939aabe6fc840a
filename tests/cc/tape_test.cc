// SPDX-License-Identifier: Apache-2.0
//
// GradientTape of a C++ client that links libtensorflow_ext.so.

#include "absl/strings/match.h"
#include "tensorflow_ext/gradient_tape.h"
#include "tests/cc/check.h"
#include "tests/cc/eager.h"

namespace tensorflow_ext {
namespace {

void Run() {
  Eager eager;
  const EagerTensor x = eager.Scalar(3), z = eager.Scalar(5);
  GradientTape tape = Value(GradientTape::New(eager.context(), TFEXT_TAPE_PERSISTENT));
  CheckOk(tape.Watch(x.get()));
  CheckOk(tape.Watch(z.get()));
  const EagerTensor y = eager.Product(eager.Product(x, x), z);

  const auto gradients = Value(tape.Gradient({y.get()}, {x.get(), z.get()}));
  Check(eager.ValueOf(gradients[0]) == 30, "dy/dx");
  Check(eager.ValueOf(gradients[1]) == 9, "dy/dz");
  // The persistent tape has recorded its own gradient.
  Check(eager.ValueOf(Value(tape.Gradient({gradients[0].get()}, {x.get()}))[0]) == 10, "d2y/dx2");
  Check(eager.ValueOf(Value(tape.Jacobian(y.get(), {x.get()}))[0]) == 30, "Jacobian");
  const auto derivative = Value(tape.Jvp({y.get()}, {x.get(), z.get()}, {x.get(), x.get()}));
  Check(eager.ValueOf(derivative[0]) == 3 * 30 + 3 * 9, "directional derivative");

  CheckOk(tape.Stop());
  const EagerTensor unseen = eager.Product(x, x);
  CheckOk(tape.Resume());
  Check(Value(tape.Gradient({unseen.get()}, {x.get()}))[0] == nullptr, "no gradient");
  const auto zeros = Value(tape.Gradient({unseen.get()}, {x.get()}, {}, TFEXT_UNCONNECTED_ZEROS));
  Check(eager.ValueOf(zeros[0]) == 0, "zeros");
  const absl::Status error = tape.Gradient({y.get()}, {x.get()}, {x.get(), x.get()}).status();
  Check(absl::StrContains(error.message(), "dys: expected none, or one for each of ys"),
        error.ToString());
  CheckOk(tape.Reset());
  const absl::Status unwatched = tape.Gradient({y.get()}, {x.get()}).status();
  Check(absl::StrContains(unwatched.message(), "x[0] is no tensor that the tape watches"),
        unwatched.ToString());
}

// A chain of any length ends without recursion. The gradient of Sin keeps its input, so the end of
// each record ends a tensor and so the record before.
void DropLongChain() {
  const Eager eager;
  const EagerTensor x = eager.Scalar(1);
  GradientTape tape = Value(GradientTape::New(eager.context()));
  CheckOk(tape.Watch(x.get()));
  EagerTensor y = eager.Run("Sin", {x.get()});
  for (int i = 0; i < 100000; ++i) y = eager.Run("Sin", {y.get()});
  y = nullptr;
  Check(Value(tape.Gradient({x.get()}, {x.get()}))[0] != nullptr, "the tape works");
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  tensorflow_ext::Run();
  tensorflow_ext::DropLongChain();
  return tensorflow_ext::ExitStatus();
}
