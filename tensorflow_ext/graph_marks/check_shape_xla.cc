#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

// XLA knows all shapes, so it checks while it compiles.
class CheckGradientShapeLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    TF_RETURN_IF_ERROR(context->GetAttr("where", &where_));
    return context->GetAttr("made_by", &made_by_);
  }

  absl::Status Compile(LoweringContext* context) const override {
    tensorflow::TensorShape gradient, expected;
    TF_RETURN_IF_ERROR(context->InputBounds(0, &gradient));
    TF_RETURN_IF_ERROR(context->ConstantInputAsShape(1, &expected));
    if (gradient != expected) {
      return absl::InvalidArgumentError(absl::StrCat(where_, " has shape ", gradient.DebugString(),
                                                     " where the input has shape ",
                                                     expected.DebugString(), "; ", made_by_));
    }
    context->SetOutput(0, context->Input(0));
    return absl::OkStatus();
  }

  std::string where_;
  std::string made_by_;
};
REGISTER_LOWERING(Name("TfExt>CheckGradientShape").CompileTimeConstantInput("expected"),
                  CheckGradientShapeLowering);

}  // namespace
}  // namespace tensorflow_ext
