#pragma once

#include <memory>
#include <vector>

#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/composite/composite.h"

namespace tensorflow_ext {

// The kernel of a composite on any device: it runs the kernels of its parts on that device in
// order. It also serves XLA, which compiles by kernels on its own devices, where tensors hold
// expressions.
class CompositeKernel final : public tensorflow::OpKernel {
 public:
  CompositeKernel(tensorflow::OpKernelConstruction* context, const CompositeOp& op);

  void Compute(tensorflow::OpKernelContext* context) override;

 private:
  struct Step {
    std::unique_ptr<tensorflow::OpKernel> kernel;
    std::vector<CompositeBody::Source> inputs;
    // The memory of its outputs.
    std::vector<tensorflow::AllocatorAttributes> outputs;
  };

  absl::Status AddStep(tensorflow::OpKernelConstruction* context, const CompositeBody::Part& part);
  absl::Status Run(tensorflow::OpKernelContext* context);

  const CompositeOp& op_;
  std::vector<Step> steps_;
  std::vector<CompositeBody::Source> results_;
};

}  // namespace tensorflow_ext
