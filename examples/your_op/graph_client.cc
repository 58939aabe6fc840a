// The op in a graph built in C++, as a typed op (the build generates your_op_cc_ops.h from the
// OpDefs):
//
//   graph_client libtensorflow_ext.so libyour_op.so
//
// Prints dy/dx at three points. Exit status: 0; 1 if TensorFlow reports an error.

#include <cstdio>
#include <memory>
#include <vector>

#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/public/session.h"
#include "your_op_cc_ops.h"

namespace {

absl::Status Run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* library = nullptr;
    TF_RETURN_IF_ERROR(tensorflow::Env::Default()->LoadDynamicLibrary(argv[i], &library));
  }

  using your_op::ops::Squareplus;
  const auto scope = tensorflow::Scope::NewRootScope();
  const auto x = tensorflow::ops::Const(scope, {-1.0f, 0.0f, 2.0f});
  const Squareplus y(scope, x, Squareplus::B(2));
  std::vector<tensorflow::Output> dx;
  TF_RETURN_IF_ERROR(tensorflow::AddSymbolicGradients(scope, {y.y}, {x}, &dx));

  tensorflow::GraphDef graph;
  TF_RETURN_IF_ERROR(scope.ToGraphDef(&graph));
  const std::unique_ptr<tensorflow::Session> session(
      tensorflow::NewSession(tensorflow::SessionOptions()));
  TF_RETURN_IF_ERROR(session->Create(graph));
  std::vector<tensorflow::Tensor> fetched;
  TF_RETURN_IF_ERROR(session->Run({}, {dx[0].name()}, {}, &fetched));
  const auto slopes = fetched[0].flat<float>();
  std::printf("dy/dx %f %f %f\n", slopes(0), slopes(1), slopes(2));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
