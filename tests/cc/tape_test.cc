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

void RunSlices() {
  Eager eager;
  const EagerTensor x = eager.Vector({1, 2, 3, 4}), z = eager.Vector({5, 6});
  GradientTape tape = Value(GradientTape::New(eager.context(), TFEXT_TAPE_PERSISTENT));
  CheckOk(tape.Watch(x.get()));
  CheckOk(tape.Watch(z.get()));
  const EagerTensor y = eager.Product(eager.Rows(x, {3, 3}), z);
  const GradientTape::Handles xs = {x.get(), z.get()};

  const auto slices = Value(tape.GradientSlices({y.get()}, xs));
  Check(slices[0].dense == nullptr && slices[0].reason.empty(), slices[0].reason);
  Check(eager.ValuesOf<double>(slices[0].values) == std::vector<double>({5, 6}), "values");
  Check(eager.ValuesOf<int32_t>(slices[0].indices) == std::vector<int32_t>({3, 3}), "indices");
  Check(eager.ValuesOf<int32_t>(slices[0].shape) == std::vector<int32_t>({4}), "shape");
  Check(slices[1].values == nullptr, "no slices of a factor");
  Check(slices[1].reason == "the gradient of op Mul is dense", slices[1].reason);
  Check(eager.ValuesOf<double>(slices[1].dense) == std::vector<double>({4, 4}), "dense");

  const auto summed = Value(tape.GradientSlices({y.get()}, xs, {z.get()}, TFEXT_REPEATED_SUMMED));
  Check(eager.ValuesOf<double>(summed[0].values) == std::vector<double>({61}), "summed values");
  Check(eager.ValuesOf<int32_t>(summed[0].indices) == std::vector<int32_t>({3}), "summed indices");
  const absl::Status error = tape.GradientSlices({y.get()}, xs, {z.get(), z.get()}).status();
  Check(absl::StrContains(error.message(), "dys: expected none, or one for each of ys"),
        error.ToString());
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  tensorflow_ext::Run();
  tensorflow_ext::DropLongChain();
  tensorflow_ext::RunSlices();
  return tensorflow_ext::ExitStatus();
}
