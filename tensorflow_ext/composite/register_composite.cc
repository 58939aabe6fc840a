#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/composite/composite.h"
#include "tensorflow_ext/composite/composite_gradient.h"
#include "tensorflow_ext/composite/composite_kernel.h"
#include "tensorflow_ext/composite/composite_shape.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {

using tensorflow::KernelDef;
using tensorflow::OpRegistry;

namespace {

// The registered composites by name, because a kernel factory is a function without data.
class Composites {
 public:
  static Composites& Global() {
    static Composites* composites = new Composites;
    return *composites;
  }

  void Add(const CompositeOp& op) {
    std::lock_guard<std::mutex> lock(mutex_);
    by_name_[op.name] = &op;
  }

  const CompositeOp& Get(const std::string& name) {
    std::lock_guard<std::mutex> lock(mutex_);
    return *by_name_.at(name);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, const CompositeOp*> by_name_;
};

tensorflow::OpKernel* NewKernel(tensorflow::OpKernelConstruction* context) {
  return new CompositeKernel(context, Composites::Global().Get(context->def().op()));
}

void RegisterKernels(const CompositeOp& op) {
  const tensorflow::KernelList parts = tensorflow::GetRegisteredKernelsForOp(op.main_part);
  for (const KernelDef& part : parts.kernel()) {
    const std::string& device = part.device_type();
    // XLA's devices take the lowering below.
    if (device != tensorflow::DEVICE_CPU && device != tensorflow::DEVICE_GPU) {
      continue;
    }
    auto kernel = std::make_unique<KernelDef>(part);
    kernel->set_op(op.name);
    tensorflow::kernel_factory::OpKernelRegistrar(kernel.release(),
                                                  "tensorflow_ext::CompositeKernel", NewKernel);
  }
  LoweringRegistration::Name(op.name.c_str()).Register(NewKernel);
}

}  // namespace

bool RegisterComposite(const CompositeOp& op) {
  if (OpRegistry::Global()->LookUp(op.name) != nullptr) return false;
  Composites::Global().Add(op);
  RegisterKernels(op);
  RegisterGradient(op.name.c_str(),
                   [&op](const tensorflow::AttrSlice& attrs, tensorflow::FunctionDef* gradient) {
                     return DefineCompositeGradient(op, attrs, gradient);
                   });
  OpRegistry::Global()->Register([&op](tensorflow::OpRegistrationData* data) {
    tensorflow::OpDefBuilder builder(op.name);
    op.declare(builder);
    builder.SetShapeFn([&op](tensorflow::shape_inference::InferenceContext* c) {
      return InferCompositeShapes(op, c);
    });
    return builder.Finalize(data);
  });
  return true;
}

}  // namespace tensorflow_ext
