#include "tensorflow_ext/xla/lowering.h"

#include <cstdint>
#include <utility>
#include <vector>

// Before XLA's headers.
// clang-format off
#include "tensorflow_ext/base/compatibility.h"
// clang-format on

// TensorFlow's headers define XLA's client, but lowerings see only pointers to it. Declaring it
// here halves the compile time of this file.
#define XLA_CLIENT_CLIENT_H_
#define XLA_CLIENT_LOCAL_CLIENT_H_
namespace xla {
class Client;
class LocalClient;
}  // namespace xla

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/tf2xla/lib/broadcast.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/base/first_copy.h"
#include "tensorflow_ext/kernels/broadcast_shape.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/xla/real_op.h"

namespace tensorflow_ext {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;

// ----- The node. -----

const std::string& LoweringConstruction::op() const { return context_->def().op(); }
bool LoweringConstruction::HasAttr(const char* name) const { return context_->HasAttr(name); }
absl::Status LoweringConstruction::GetAttr(const char* name, bool* value) const {
  return context_->GetAttr(name, value);
}
absl::Status LoweringConstruction::GetAttr(const char* name, int32_t* value) const {
  return context_->GetAttr(name, value);
}
absl::Status LoweringConstruction::GetAttr(const char* name, int64_t* value) const {
  return context_->GetAttr(name, value);
}
absl::Status LoweringConstruction::GetAttr(const char* name, float* value) const {
  return context_->GetAttr(name, value);
}
absl::Status LoweringConstruction::GetAttr(const char* name, std::string* value) const {
  return context_->GetAttr(name, value);
}
absl::Status LoweringConstruction::GetAttr(const char* name, tensorflow::DataType* value) const {
  return context_->GetAttr(name, value);
}

// ----- Its arguments. -----

const std::string& LoweringContext::op() const { return context_->op_kernel().type_string(); }
int LoweringContext::num_inputs() const { return context_->num_inputs(); }
int LoweringContext::num_outputs() const { return context_->num_outputs(); }
xla::XlaBuilder* LoweringContext::builder() const { return context_->builder(); }
bool LoweringContext::IsForCpu() const {
  return context_->compiler()->options().device_type.type_string() ==
         tensorflow::DEVICE_CPU_XLA_JIT;
}

xla::PrimitiveType LoweringContext::InputType(int index) const {
  return xla::Own(context_->input_xla_type(index));
}
xla::XlaOp LoweringContext::Input(int index) const { return xla::Own(context_->Input(index)); }

absl::Status LoweringContext::InputShape(int index, TensorShape* shape) const {
  TF_RETURN_IF_ERROR(CheckStatic(index, 0));
  return InputBounds(index, shape);
}

absl::Status LoweringContext::InputBounds(int index, TensorShape* shape) const {
  TF_ASSIGN_OR_RETURN(const ::xla::Shape input, context_->InputXlaShape(index));
  *shape = TensorShape(input.dimensions());
  return absl::OkStatus();
}

absl::Status LoweringContext::InputBounds(std::vector<TensorShape>* shapes) const {
  shapes->resize(num_inputs());
  for (int i = 0; i < num_inputs(); ++i) {
    TF_RETURN_IF_ERROR(InputBounds(i, &(*shapes)[i]));
  }
  return absl::OkStatus();
}

absl::Status LoweringContext::CheckStatic(int index, int first_axis) const {
  TF_ASSIGN_OR_RETURN(const ::xla::Shape input, context_->InputXlaShape(index));
  const int rank = input.dimensions().size();
  for (int axis = first_axis; axis < rank; ++axis) {
    if (!input.is_dynamic_dimension(axis)) continue;
    return absl::UnimplementedError(
        absl::StrCat(op(), ": argument '", ArgumentName(op(), index),
                     "' has a dynamic size along axis ", axis, ", at most ", input.dimensions(axis),
                     "; under XLA its sizes must be static. Pad it, or keep the op out of the "
                     "part that XLA compiles"));
  }
  return absl::OkStatus();
}

absl::Status LoweringContext::ConstantInputAsShape(int index, TensorShape* shape) const {
  const absl::Status status = context_->ConstantInputAsShape(index, shape);
  std::vector<int64_t> sizes;
  if (status.ok() || !context_->ConstantInputAsIntVector(index, &sizes).ok()) {
    return status;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      op(), ": argument '", ArgumentName(op(), index), "' is [", absl::StrJoin(sizes, " "),
      "], expected sizes >= 0 whose product is the size of a tensor"));
}

absl::Status LoweringContext::CheckSameShape(int count) const {
  TensorShape first, shape;
  TF_RETURN_IF_ERROR(InputBounds(0, &first));
  for (int i = 1; i < count; ++i) {
    TF_RETURN_IF_ERROR(InputBounds(i, &shape));
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckSameShape(op(), first, shape, i));
  }
  return absl::OkStatus();
}

absl::Status LoweringContext::BroadcastInputs(std::vector<xla::XlaOp>* inputs) const {
  const int count = num_inputs();
  TensorShape x, y, shape;
  TF_RETURN_IF_ERROR(InputBounds(count - 2, &x));
  TF_RETURN_IF_ERROR(InputBounds(count - 1, &y));
  TF_RETURN_IF_ERROR(BroadcastShape(op(), count - 2, x, y, &shape));
  if (count == 3) {
    TensorShape gradients;
    TF_RETURN_IF_ERROR(InputBounds(0, &gradients));
    TF_RETURN_IF_ERROR(CheckGradientShape(op(), gradients, shape));
  }
  for (int k = 0; k < count; ++k) {
    TF_ASSIGN_OR_RETURN(const ::xla::XlaOp input,
                        tensorflow::BroadcastTo(context_->Input(k), shape.dim_sizes()));
    inputs->push_back(xla::ConvertElementType(xla::Own(input), ComputeType(k)));
  }
  return absl::OkStatus();
}

void LoweringContext::SetOutput(int index, xla::XlaOp value) {
  const xla::PrimitiveType type = xla::Own(context_->output_xla_type(index));
  if (xla::ElementType(value) != type) {
    value = xla::ConvertElementType(value, type);
  }
  context_->SetOutput(index, xla::Real(value));
}

// SetOutput cannot do this: resources and tensor lists are more than an XlaOp.
void LoweringContext::ForwardInput(int index) {
  tensorflow::OpKernelContext* context = context_->op_kernel_context();
  context->set_output(index, context->input(index));
}

// ----- The kernel that carries a lowering. -----

namespace {

class LoweringKernel final : public tensorflow::XlaOpKernel {
 public:
  LoweringKernel(OpKernelConstruction* context, std::unique_ptr<Lowering> lowering)
      : XlaOpKernel(context), lowering_(std::move(lowering)) {
    LoweringConstruction construction(context);
    OP_REQUIRES_OK(context, lowering_->ReadAttributes(&construction));
  }

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    LoweringContext lowering_context(context);
    const xla::CurrentBuilderScope scope(lowering_context.builder());
    OP_REQUIRES_OK(context, lowering_->Compile(&lowering_context));
  }

 private:
  const std::unique_ptr<Lowering> lowering_;
};

}  // namespace

tensorflow::OpKernel* internal::NewLoweringKernel(OpKernelConstruction* context,
                                                  std::unique_ptr<Lowering> lowering) {
  return new LoweringKernel(context, std::move(lowering));
}

namespace {

// XLA creates kernels for all lowerings when it first compiles, and never again. A lowering
// registered later, as in a process that imports this library late, gets its kernels here.
void RegisterLateKernels(const std::string& op, LoweringRegistration::Factory factory) {
  tensorflow::NodeDef any;  // an op without attributes that has an XLA kernel
  any.set_op("NoOp");
  for (const char* device : {tensorflow::DEVICE_CPU_XLA_JIT, tensorflow::DEVICE_GPU_XLA_JIT}) {
    if (!tensorflow::KernelDefAvailable(tensorflow::DeviceType(device), any)) {
      continue;
    }
    tensorflow::kernel_factory::OpKernelRegistrar(
        tensorflow::KernelDefBuilder(op.c_str()).Device(device).Build(),
        "tensorflow_ext::LoweringKernel", factory);
  }
}

}  // namespace

LoweringRegistration LoweringRegistration::Name(const char* op) {
  LoweringRegistration registration;
  registration.op_ = op;
  return registration;
}

LoweringRegistration& LoweringRegistration::CompileTimeConstantInput(const char* name) {
  constant_inputs_.push_back(name);
  return *this;
}

LoweringRegistration& LoweringRegistration::AllowAllTypes() {
  allow_all_types_ = true;
  return *this;
}

bool LoweringRegistration::Register(Factory factory) const {
  if (!IsFirstCopy()) return false;
  auto builder = tensorflow::XlaOpRegistrationBuilder::Name(op_);
  for (const std::string& name : constant_inputs_) {
    builder.CompileTimeConstantInput(name);
  }
  if (allow_all_types_) {
    builder.AllowResourceTypes().AllowStringType().AllowVariantTypes();
  }
  tensorflow::XlaOpRegistrar registrar(builder.Build(factory));
  RegisterLateKernels(op_, factory);
  return true;
}

}  // namespace tensorflow_ext
