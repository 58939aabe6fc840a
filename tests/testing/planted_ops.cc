// Ops that compute x * x: one without a fault, and others with one fault each that
// tensorflow_ext.testing.check_op must find.

#include <cmath>
#include <cstdint>
#include <string>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

using tensorflow::AttrSlice;
using tensorflow::FunctionDef;
using tensorflow::OpKernelConstruction;
using tensorflow::Tensor;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::UnchangedShape;
using FDH = tensorflow::FunctionDefHelper;

enum class Fault {
  kNone,
  kAbortsOnMatrices,  // instead of refusing them
  kReadsAnyIndex,     // also beyond the input
  kAbortsOnEmpty,     // tensors
  kHangsOnEmpty,      // tensors
  kAddsCalls,         // so no two calls give the same
  kLosesPrecision,    // in float, compared with double
  kTakesAnyRank,      // the shape function does not
  kInternalErrors,    // instead of InvalidArgument
};

// x * x; with `indices`, the square of the elements that they select.
template <typename T, Fault fault>
class SquareOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const Tensor& x = context->input(0);
    if constexpr (fault == Fault::kAbortsOnMatrices) {
      CHECK_LT(x.dims(), 3) << "planted: no cube, please";
    }
    if constexpr (fault == Fault::kAbortsOnEmpty) {
      CHECK_GT(x.NumElements(), 0) << "planted: nothing to do";
    }
    if constexpr (fault == Fault::kHangsOnEmpty) {
      for (volatile bool waits = x.NumElements() == 0; waits;) {
      }
    }
    if constexpr (fault == Fault::kInternalErrors) {
      OP_REQUIRES(context, x.dims() == 2, absl::InternalError("dims == 2"));
    }
    Tensor* y = nullptr;
    const bool by_index = fault == Fault::kReadsAnyIndex;
    const tensorflow::TensorShape& shape = (by_index ? context->input(1) : x).shape();
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &y));
    const T* from = x.flat<T>().data();
    T* to = y->flat<T>().data();
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      int64_t source = i;
      if constexpr (by_index) {
        source = context->input(1).flat<int32_t>()(i);
      }
      to[i] = from[source] * from[source];
      if constexpr (fault == Fault::kAddsCalls) to[i] += calls_;
      if constexpr (fault == Fault::kLosesPrecision && sizeof(T) == 4) {
        to[i] += 0.01F;
      }
    }
    ++calls_;
  }

 private:
  int calls_ = 0;
};

#define KERNEL(name, T, fault)                                                              \
  REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T"), \
                          SquareOp<T, fault>)
#define KERNELS(name, fault)  \
  KERNEL(name, float, fault); \
  KERNEL(name, double, fault)

#define DOCUMENTATION     \
  "Squares.\n\nx: Any.\n" \
  "y: The square of each element, in the shape of x."

#define OP(name) REGISTER_OP(name).Input("x: T").Output("y: T").Attr("T: {float, double}")

#define DOCUMENTED_OP(name) OP(name).SetShapeFn(UnchangedShape).Doc(DOCUMENTATION)

// dx = factor x dy
void Gradient(float factor, FunctionDef* g) {
  *g = FDH::Define(
      // Arg defs
      {"x: T", "dy: T"},
      // Ret val defs
      {"dx: T"},
      // Attr defs
      {"T: {float, double}"},
      // Nodes
      {
          FDH::Const<float>("factor", factor),
          {{"k"}, "Cast", {"factor"}, {{"SrcT", tensorflow::DT_FLOAT}, {"DstT", "$T"}}},
          {{"p"}, "Mul", {"x", "dy"}, {{"T", "$T"}}},
          {{"dx"}, "Mul", {"k", "p"}, {{"T", "$T"}}},
      });
}

absl::Status SquareGradient(const AttrSlice&, FunctionDef* g) {
  Gradient(2, g);
  return absl::OkStatus();
}

#define COMPUTES_SQUARES(name, fault) \
  KERNELS(name, fault);               \
  REGISTER_OP_GRADIENT(name, SquareGradient)

#define RIGHT_BUT(name, fault) \
  DOCUMENTED_OP(name);         \
  COMPUTES_SQUARES(name, fault)

RIGHT_BUT("Planted>AbortsOnMatrices", Fault::kAbortsOnMatrices);
RIGHT_BUT("Planted>AbortsOnEmpty", Fault::kAbortsOnEmpty);
RIGHT_BUT("Planted>HangsOnEmpty", Fault::kHangsOnEmpty);
RIGHT_BUT("Planted>AddsCalls", Fault::kAddsCalls);
RIGHT_BUT("Planted>LosesPrecision", Fault::kLosesPrecision);
RIGHT_BUT("Planted>InternalErrors", Fault::kInternalErrors);
// Faults in the registrations of planted_gradients.py or in planted_xla.cc.
RIGHT_BUT("Planted>NoGradientOfX", Fault::kNone);
RIGHT_BUT("Planted>OtherInXla", Fault::kNone);
RIGHT_BUT("Planted>OtherWhenVectorized", Fault::kNone);

// The op without a fault.
RIGHT_BUT("Planted>Right", Fault::kNone);

// planted_gradients.py registers the correct one for Python.
DOCUMENTED_OP("Planted>OtherInC");
KERNELS("Planted>OtherInC", Fault::kNone);
REGISTER_OP_GRADIENT("Planted>OtherInC", [](const AttrSlice&, FunctionDef* g) {
  Gradient(3, g);
  return absl::OkStatus();
});

OP("Planted>NoShapeFunction").Doc(DOCUMENTATION);
COMPUTES_SQUARES("Planted>NoShapeFunction", Fault::kNone);

OP("Planted>ShapeOfUnknownRankAborts")
    .SetShapeFn([](InferenceContext* c) {
      CHECK(c->RankKnown(c->input(0))) << "planted: which rank?";
      return UnchangedShape(c);
    })
    .Doc(DOCUMENTATION);
COMPUTES_SQUARES("Planted>ShapeOfUnknownRankAborts", Fault::kNone);

OP("Planted>ShapeDisagrees")
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->Vector(7));
      return absl::OkStatus();
    })
    .Doc(DOCUMENTATION);
COMPUTES_SQUARES("Planted>ShapeDisagrees", Fault::kNone);

OP("Planted>TakesAnyRank")
    .SetShapeFn([](InferenceContext* c) {
      tensorflow::shape_inference::ShapeHandle matrix;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 2, &matrix));
      c->set_output(0, matrix);
      return absl::OkStatus();
    })
    .Doc(DOCUMENTATION);
COMPUTES_SQUARES("Planted>TakesAnyRank", Fault::kTakesAnyRank);

DOCUMENTED_OP("Planted>NoDouble");
KERNEL("Planted>NoDouble", float, Fault::kNone);
REGISTER_OP_GRADIENT("Planted>NoDouble", SquareGradient);

DOCUMENTED_OP("Planted>NoGradient");
KERNELS("Planted>NoGradient", Fault::kNone);

OP("Planted>NoDocumentation").SetShapeFn(UnchangedShape);
COMPUTES_SQUARES("Planted>NoDocumentation", Fault::kNone);

// The gradient is wrong for one value of an attribute.
OP("Planted>WrongForOneValue")
    .Attr("mode: {'plain', 'reversed', 'twice'} = 'plain'")
    .SetShapeFn(UnchangedShape)
    .Doc(DOCUMENTATION "\nmode: Changes nothing.");
KERNELS("Planted>WrongForOneValue", Fault::kNone);
REGISTER_OP_GRADIENT("Planted>WrongForOneValue", [](const AttrSlice& attrs, FunctionDef* g) {
  std::string mode;
  TF_RETURN_IF_ERROR(GetNodeAttr(attrs, "mode", &mode));
  Gradient(mode == "twice" ? 4 : 2, g);
  return absl::OkStatus();
});

// The gradient is correct, but the gradient's own is wrong: an op that computes dx = 2 x dy and
// claims that dx does not depend on x.
DOCUMENTED_OP("Planted>SecondOrderWrong");
KERNELS("Planted>SecondOrderWrong", Fault::kNone);
REGISTER_OP_GRADIENT("Planted>SecondOrderWrong", [](const AttrSlice&, FunctionDef* g) {
  *g = FDH::Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                   {
                       {{"fixed"}, "StopGradient", {"x"}, {{"T", "$T"}}},
                       {{"p"}, "Mul", {"fixed", "dy"}, {{"T", "$T"}}},
                       {{"dx"}, "AddV2", {"p", "p"}, {{"T", "$T"}}},
                   });
  return absl::OkStatus();
});

OP("Planted>ReadsAnyIndex")
    .Input("indices: int32")
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->input(1));
      return absl::OkStatus();
    })
    .Doc(DOCUMENTATION "\nindices: Of the elements, as if x were flat.");
KERNELS("Planted>ReadsAnyIndex", Fault::kReadsAnyIndex);
REGISTER_OP_NO_GRADIENT("Planted>ReadsAnyIndex");

}  // namespace
