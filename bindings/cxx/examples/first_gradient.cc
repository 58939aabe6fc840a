// A graph with a typed op, its gradient, and a session that runs both. docs/cpp.md explains how to
// compile it.

#include <cstdio>
#include <memory>
#include <vector>

#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/cc/gradients.h"
#include "tensorflow_ext/cc/ops.h"

namespace {

absl::Status Run() {
  using tensorflow::ops::Const;
  using tensorflow_ext::ops::RoiPool;

  const auto scope = tensorflow::Scope::NewRootScope();
  const auto data = Const(scope, {1.0f, 4.0f, 3.0f, 2.0f}, {1, 2, 2, 1});
  const auto rois = Const(scope, {{0.0f, 0.0f, 0.0f, 16.0f, 16.0f}});
  const RoiPool pool(scope, data, rois, 1, 1, RoiPool::SpatialScale(1 / 16.f));

  std::vector<tensorflow::Output> gradients;
  TF_RETURN_IF_ERROR(
      tensorflow_ext::AddSymbolicGradients(scope, {pool.pooled}, {data, rois}, &gradients));
  std::printf("rois %s gradient\n", gradients[1].node() ? "have a" : "have no");

  tensorflow::GraphDef graph;
  TF_RETURN_IF_ERROR(scope.ToGraphDef(&graph));
  const std::unique_ptr<tensorflow::Session> session(
      tensorflow::NewSession(tensorflow::SessionOptions()));
  TF_RETURN_IF_ERROR(session->Create(graph));
  std::vector<tensorflow::Tensor> fetched;
  TF_RETURN_IF_ERROR(session->Run({}, {pool.pooled.name(), gradients[0].name()}, {}, &fetched));
  std::printf("pooled %g\n", fetched[0].flat<float>()(0));
  const auto dx = fetched[1].flat<float>();
  std::printf("gradient %g %g %g %g\n", dx(0), dx(1), dx(2), dx(3));
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
