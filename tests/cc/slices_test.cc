// SliceGradients of a C++ client that links libtensorflow_ext.so.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/cc/ops/math_ops.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/cc/gradients.h"
#include "tensorflow_ext/slice_gradients.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {
namespace {

namespace ops = tensorflow::ops;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;
using Outputs = std::vector<Output>;

// Rows 2, 0 and 2 of a table of 4 rows, times a matrix; and the gradients by both.
struct Lookup {
  Lookup() {
    table = ops::Const(scope, {{1., 2.}, {3., 4.}, {5., 6.}, {7., 8.}});
    matrix = ops::Const(scope, {{1.}, {10.}});
    const Output rows = ops::GatherV2(scope, table, {2, 0, 2}, 0);
    const Output y = ops::Mul(scope, ops::MatMul(scope, rows, matrix), {{1.}, {2.}, {3.}});
    CheckOk(tensorflow_ext::AddSymbolicGradients(scope, {y}, {table, matrix}, &gradients));
  }

  std::vector<Tensor> Run(const Outputs& tensors) const {
    tensorflow::GraphDef graph_def;
    CheckOk(scope.ToGraphDef(&graph_def));
    const std::unique_ptr<tensorflow::Session> session(
        tensorflow::NewSession(tensorflow::SessionOptions()));
    CheckOk(session->Create(graph_def));
    std::vector<std::string> names;
    std::vector<Tensor> fetched;
    for (const Output& tensor : tensors) names.push_back(tensor.name());
    CheckOk(session->Run({}, names, {}, &fetched));
    fetched.resize(tensors.size());
    return fetched;
  }

  Scope scope = Scope::NewRootScope();
  Output table, matrix;
  Outputs gradients;
};

template <typename T>
void CheckValues(const Tensor& tensor, const std::vector<T>& expected, const std::string& what) {
  const auto values = tensor.flat<T>();
  Check(std::vector<T>(values.data(), values.data() + values.size()) == expected,
        what + ": " + tensor.DebugString());
}

void Slices() {
  const Lookup lookup;
  std::vector<SlicedGradient> sliced;
  const Outputs gradients = {lookup.gradients[0], tensorflow::NoGradient(), lookup.gradients[1]};
  CheckOk(SliceGradients(lookup.scope, gradients, TFEXT_REPEATED_STAY, &sliced));
  if (sliced.size() != 3) return Check(false, "one result for each gradient");
  Check(sliced[0].dense.node() == nullptr && sliced[0].reason.empty(), "the table has slices");
  Check(sliced[1].dense.node() == nullptr && sliced[1].values.node() == nullptr,
        "an empty gradient stays so");
  Check(sliced[2].values.node() == nullptr, "the matrix has none");
  Check(sliced[2].dense.node() == lookup.gradients[1].node(), "what no call makes stays");
  Check(absl::StrContains(sliced[2].reason, "of op MatMul"), sliced[2].reason);
  const auto found = lookup.Run({sliced[0].values, sliced[0].indices, sliced[0].shape});
  CheckValues<double>(found[0], {1, 10, 2, 20, 3, 30}, "values");
  CheckValues<int32_t>(found[1], {2, 0, 2}, "indices");
  CheckValues<int32_t>(found[2], {4, 2}, "shape");
}

void SummedSlices() {
  const Lookup lookup;
  std::vector<SlicedGradient> sliced;
  CheckOk(SliceGradients(lookup.scope, {lookup.gradients[0]}, TFEXT_REPEATED_SUMMED, &sliced));
  if (sliced.size() != 1) return Check(false, "one result for each gradient");
  const auto found = lookup.Run({sliced[0].values, sliced[0].indices});
  CheckValues<double>(found[0], {4, 40, 2, 20}, "values");
  CheckValues<int32_t>(found[1], {2, 0}, "indices");
}

void WrongTensors() {
  const Lookup lookup;
  std::vector<SlicedGradient> sliced(7);
  const absl::Status status =
      SliceGradients(lookup.scope, {Output(lookup.table.node(), 3)}, TFEXT_REPEATED_STAY, &sliced);
  Check(absl::IsInvalidArgument(status) && absl::StrContains(status.message(), "is no tensor of"),
        status.ToString());
  Check(sliced.size() == 7, "nothing is given back after an error");
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  tensorflow_ext::Slices();
  tensorflow_ext::SummedSlices();
  tensorflow_ext::WrongTensors();
  return tensorflow_ext::ExitStatus();
}
