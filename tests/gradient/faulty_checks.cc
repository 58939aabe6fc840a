// SPDX-License-Identifier: Apache-2.0
//
// Ops with mistakes that TensorFlow takes, or reports badly. They hand their
// first input on.

#include <stdexcept>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/define.h"

namespace {

using tensorflow::AttrSlice;
using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::FunctionDef;
using FDH = tensorflow::FunctionDefHelper;
using tensorflow::shape_inference::UnchangedShape;
using tensorflow::shape_inference::UnknownShape;
using tensorflow_ext::Define;

class HandOnOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(tensorflow::OpKernelContext* context) override {
    context->set_output(0, context->input(0));
  }
};

#define UNARY_OP(name)             \
  REGISTER_OP(name)                \
      .Input("x: T")               \
      .Output("y: T")              \
      .Attr("T: {float, double}")  \
      .Attr("scale: float = 1.0")  \
      .SetShapeFn(UnchangedShape); \
  REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_CPU), HandOnOp)

// ----- Gradients of another shape than their input. -----

UNARY_OP("Faulty>Summed");
REGISTER_OP_GRADIENT("Faulty>Summed", [](const AttrSlice&, FunctionDef* g) {
  return Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                {
                    FDH::Const("first", 0),
                    {{"dx"}, "Sum", {"dy", "first"}},
                },
                g);
});

// y may be smaller than x; its gradient is not summed.
REGISTER_OP("Faulty>NotSummed")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .SetShapeFn(UnchangedShape);
REGISTER_KERNEL_BUILDER(Name("Faulty>NotSummed").Device(tensorflow::DEVICE_CPU),
                        HandOnOp);
REGISTER_OP_GRADIENT("Faulty>NotSummed", [](const AttrSlice&, FunctionDef* g) {
  return Define({"x: T", "y: T", "dz: T"}, {"dx: T", "dy: T"},
                {"T: {float, double}"},
                {
                    {{"dx"}, "Identity", {"dz"}},
                    {{"dy"}, "Mul", {"dz", "x"}},
                },
                g);
});

// Of a variable, a row.
REGISTER_OP("Faulty>FirstRow")
    .Input("variable: resource")
    .Output("row: float")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      c->set_output(0, c->Vector(2));
      return absl::OkStatus();
    });
REGISTER_OP_GRADIENT("Faulty>FirstRow", [](const AttrSlice&, FunctionDef* g) {
  return Define({"variable: resource", "drow: float"}, {"dvariable: float"}, {},
                {{{"dvariable"}, "Neg", {"drow"}}}, g);
});

// Right: the shape of its gradient is known only when it runs.
UNARY_OP("Featured>Reshaped");
REGISTER_OP_GRADIENT("Featured>Reshaped", [](const AttrSlice&, FunctionDef* g) {
  return Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                {
                    {{"shape"}, "Shape", {"x"}},
                    {{"dx"}, "Reshape", {"dy", "shape"}},
                },
                g);
});

// ----- Mistakes with messages that said little. -----

UNARY_OP("Faulty>UnknownPlaceholder");
REGISTER_OP_GRADIENT("Faulty>UnknownPlaceholder", [](const AttrSlice&,
                                                     FunctionDef* g) {
  *g = FDH::Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                   {{{"dx"}, "Mul", {"dy", "x"}, {{"T", "$U"}}}});
  return absl::OkStatus();
});

// Right for float.
UNARY_OP("Faulty>FloatConstant");
REGISTER_OP_GRADIENT("Faulty>FloatConstant", [](const AttrSlice&,
                                                FunctionDef* g) {
  *g = FDH::Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                   {
                       FDH::Const("half", 0.5f),
                       {{"dx"}, "Mul", {"dy", "half"}, {{"T", "$T"}}},
                   });
  return absl::OkStatus();
});

UNARY_OP("Faulty>DefinedWrong");
REGISTER_OP_GRADIENT("Faulty>DefinedWrong", [](const AttrSlice&,
                                               FunctionDef* g) {
  return Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                {{{"dx"}, "Mul", {"dy", "slope"}}}, g);
});

UNARY_OP("Faulty>Throws");
REGISTER_OP_GRADIENT("Faulty>Throws",
                     [](const AttrSlice&, FunctionDef*) -> absl::Status {
                       throw std::runtime_error("the table is on fire");
                     });
UNARY_OP("Faulty>ThrowsANumber");
REGISTER_OP_GRADIENT("Faulty>ThrowsANumber",
                     [](const AttrSlice&, FunctionDef*) -> absl::Status {
                       throw 7;
                     });

// ----- For checks of all types. -----

// Refuses double, and says so.
UNARY_OP("Featured>NotForDouble");
REGISTER_OP_GRADIENT("Featured>NotForDouble", [](const AttrSlice& attrs,
                                                 FunctionDef* g) {
  tensorflow::DataType type;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attrs, "T", &type));
  if (type != DT_FLOAT) return absl::UnimplementedError("float alone");
  return Define({"x: float", "dy: float"}, {"dx: float"}, {},
                {{{"dx"}, "Mul", {"dy", "x"}}}, g);
});

// Has an attribute without a default.
REGISTER_OP("Featured>Named")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double}")
    .Attr("which: string")
    .SetShapeFn(UnknownShape);
REGISTER_OP_GRADIENT("Featured>Named", [](const AttrSlice&, FunctionDef* g) {
  return Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                {{{"dx"}, "Mul", {"dy", "x"}}}, g);
});

// Wrong where both are double, among many combinations.
REGISTER_OP("Faulty>OfManyTypes")
    .Input("a: A")
    .Input("b: B")
    .Input("c: C")
    .Input("d: D")
    .Output("y: A")
    .Attr("A: {float, double, half, bfloat16, int8, int16, int32, int64}")
    .Attr("B: {float, double, half, bfloat16, int8, int16, int32, int64}")
    .Attr("C: {float, double, half, bfloat16, int8, int16, int32, int64}")
    .Attr("D: {float, double, half, bfloat16, int8, int16, int32, int64}")
    .SetShapeFn(UnknownShape);
REGISTER_OP_GRADIENT("Faulty>OfManyTypes", [](const AttrSlice&,
                                              FunctionDef* g) {
  return Define({"a: A", "b: B", "c: C", "d: D", "dy: A"},
                {"da: A", "db: B", "dc: C", "dd: D"},
                {"A: type", "B: type", "C: type", "D: type"},
                {
                    FDH::Const("float_zero", 0.0f),
                    {{"da"}, "Identity", {"dy"}},
                    {{"db"}, "ZerosLike", {"b"}},
                    {{"dc"}, "Mul", {"c", "float_zero"}, {{"T", "$C"}}},
                    {{"dd"}, "ZerosLike", {"d"}},
                },
                g);
});

}  // namespace
