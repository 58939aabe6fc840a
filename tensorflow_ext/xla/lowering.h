// Lowerings: how XLA computes an op. This header includes no header of XLA or TensorFlow; see
// xla_op.h:
//
//   class NoGradient : public Lowering {
//     absl::Status Compile(LoweringContext* context) const override {
//       context->SetOutput(0, xla::ZerosLike(context->Input(0)));
//       return absl::OkStatus();
//     }
//   };
//   REGISTER_LOWERING(Name("TfExt>NoGradient"), NoGradient);
//
// An elementwise op's lowering comes from its functor: functor_lowering.h.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow_ext/xla/xla_op.h"

namespace tensorflow {
enum DataType : int;
class OpKernel;
class OpKernelConstruction;
class TensorShape;
class XlaOpKernelContext;
}  // namespace tensorflow

namespace tensorflow_ext {

// The node that a lowering is constructed for.
class LoweringConstruction {
 public:
  explicit LoweringConstruction(tensorflow::OpKernelConstruction* context) : context_(context) {}

  // The op's name.
  const std::string& op() const;

  // Like the functions of OpKernelConstruction.
  bool HasAttr(const char* name) const;
  absl::Status GetAttr(const char* name, bool* value) const;
  absl::Status GetAttr(const char* name, int32_t* value) const;
  absl::Status GetAttr(const char* name, int64_t* value) const;
  absl::Status GetAttr(const char* name, float* value) const;
  absl::Status GetAttr(const char* name, std::string* value) const;
  absl::Status GetAttr(const char* name, tensorflow::DataType* value) const;

  // For functions that kernels and lowerings share.
  tensorflow::OpKernelConstruction* kernel_construction() const { return context_; }

 private:
  tensorflow::OpKernelConstruction* const context_;
};

// The arguments of a node in the computation that is being built.
class LoweringContext {
 public:
  explicit LoweringContext(tensorflow::XlaOpKernelContext* context) : context_(context) {}

  // The op's name.
  const std::string& op() const;
  int num_inputs() const;
  int num_outputs() const;
  xla::XlaBuilder* builder() const;
  // True if XLA compiles for a CPU: fast code there may be slow on a GPU.
  bool IsForCpu() const;

  // The type of input `index`, and its compute type.
  xla::PrimitiveType InputType(int index) const;
  xla::PrimitiveType ComputeType(int index) const { return xla::ComputeType(InputType(index)); }
  // Input `index` unchanged, and in its compute type.
  xla::XlaOp Input(int index) const;
  xla::XlaOp ComputeInput(int index) const {
    return xla::ConvertElementType(Input(index), ComputeType(index));
  }

  // The shape of input `index`, with static sizes; see CheckStatic.
  absl::Status InputShape(int index, tensorflow::TensorShape* shape) const;
  // The shape of input `index`, or of all inputs, with its bound in place of each dynamic size. For
  // lowerings that are right for any dynamic sizes.
  absl::Status InputBounds(int index, tensorflow::TensorShape* shape) const;
  absl::Status InputBounds(std::vector<tensorflow::TensorShape>* shapes) const;
  // Rejects dynamic sizes of input `index` from `first_axis` on. Ops that select elements, such as
  // boolean_mask, create them. Elements beyond a size and up to its bound are arbitrary, and an
  // operation that does not know this counts them. Errors are kUnimplemented and name the op, the
  // argument and the axis.
  absl::Status CheckStatic(int index, int first_axis) const;
  // The value of an input that is a CompileTimeConstantInput.
  absl::Status ConstantInputAsShape(int index, tensorflow::TensorShape* shape) const;

  // Checks the rule of elementwise ops: the first `count` inputs have one shape.
  absl::Status CheckSameShape(int count) const;
  // All inputs of a broadcasting op (kernels/broadcast_shape.h) in their compute type and the shape
  // of the output.
  absl::Status BroadcastInputs(std::vector<xla::XlaOp>* inputs) const;

  // Rounds `value` to the type of output `index`.
  void SetOutput(int index, xla::XlaOp value);
  // Output `index` is input `index`, of any kind, such as a resource.
  void ForwardInput(int index);

 private:
  tensorflow::XlaOpKernelContext* const context_;
};

class Lowering {
 public:
  virtual ~Lowering() = default;

  // Called once, before Compile.
  virtual absl::Status ReadAttributes(LoweringConstruction* /*context*/) {
    return absl::OkStatus();
  }
  // Adds the op to the computation.
  virtual absl::Status Compile(LoweringContext* context) const = 0;
};

// The properties of a lowering, as in an XlaOpRegistrationBuilder.
class LoweringRegistration {
 public:
  using Factory = tensorflow::OpKernel* (*)(tensorflow::OpKernelConstruction*);

  static LoweringRegistration Name(const char* op);
  // The input must be known at compile time; see ConstantInputAsShape.
  LoweringRegistration& CompileTimeConstantInput(const char* name);
  // Also admits resources, strings and variants.
  LoweringRegistration& AllowAllTypes();

  // Registers nothing if another copy of this library has done so.
  bool Register(Factory factory) const;

 private:
  std::string op_;
  std::vector<std::string> constant_inputs_;
  bool allow_all_types_ = false;
};

namespace internal {

tensorflow::OpKernel* NewLoweringKernel(tensorflow::OpKernelConstruction* context,
                                        std::unique_ptr<Lowering> lowering);

template <typename Lowering>
tensorflow::OpKernel* NewKernel(tensorflow::OpKernelConstruction* context) {
  return NewLoweringKernel(context, std::make_unique<Lowering>());
}

}  // namespace internal
}  // namespace tensorflow_ext

// REGISTER_LOWERING(Name("TfExt>Op"), Class), used like REGISTER_KERNEL_BUILDER. `Class` is
// constructed without arguments.
#define REGISTER_LOWERING(registration, ...) \
  REGISTER_LOWERING_HELPER(__COUNTER__, registration, __VA_ARGS__)
#define REGISTER_LOWERING_HELPER(counter, registration, ...) \
  REGISTER_LOWERING_UNIQUE(counter, registration, __VA_ARGS__)
#define REGISTER_LOWERING_UNIQUE(counter, registration, ...)            \
  [[maybe_unused]] static const bool lowering_is_registered_##counter = \
      ::tensorflow_ext::LoweringRegistration::registration.Register(    \
          ::tensorflow_ext::internal::NewKernel<__VA_ARGS__>)
