// The lowerings of the ops that are the identity and exist for their gradient. The other ops are
// registered with their kernels.

#include "tensorflow_ext/kernels/attributes.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

// Each output is the input of the same index.
class IdentityLowering : public Lowering {
 public:
  absl::Status Compile(LoweringContext* context) const override {
    for (int i = 0; i < context->num_outputs(); ++i) context->ForwardInput(i);
    return absl::OkStatus();
  }
};

// The lowering of ReverseGradient, ReverseGradientN and ScaleGradient.
class ScaleGradientLowering : public IdentityLowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    float scale;
    return GetFiniteAttr(context, context->op().c_str(), "scale", &scale);
  }
};
REGISTER_LOWERING(Name("TfExt>ReverseGradient"), ScaleGradientLowering);
REGISTER_LOWERING(Name("TfExt>ReverseGradientN").AllowAllTypes(), ScaleGradientLowering);
REGISTER_LOWERING(Name("TfExt>ScaleGradient"), ScaleGradientLowering);

class ClipGradientLowering : public IdentityLowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    float min, max;
    return GetRangeAttrs(context, context->op().c_str(), &min, &max);
  }
};
REGISTER_LOWERING(Name("TfExt>ClipGradient"), ClipGradientLowering);

class StraightThroughLowering : public IdentityLowering {
  absl::Status Compile(LoweringContext* context) const override {
    absl::Status status = context->CheckSameShape(2);
    return status.ok() ? IdentityLowering::Compile(context) : status;
  }
};
REGISTER_LOWERING(Name("TfExt>StraightThrough"), StraightThroughLowering);

}  // namespace
}  // namespace tensorflow_ext
