#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

class NoGradientLowering : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    context->SetOutput(0, xla::ZerosLike(context->Input(0)));
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>NoGradient"), NoGradientLowering);

}  // namespace
}  // namespace tensorflow_ext
