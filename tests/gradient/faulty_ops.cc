// Ops whose gradients have one mistake each, and a few that use every feature of a definition.
// Kernels return the first input.

#include <stdexcept>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/define.h"

namespace {

using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::FunctionDef;
using FDH = tensorflow::FunctionDefHelper;
using tensorflow::shape_inference::InferenceContext;
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

#define KERNEL(name) REGISTER_KERNEL_BUILDER(Name(name).Device(tensorflow::DEVICE_CPU), HandOnOp)

#define UNARY_OP(name)             \
  REGISTER_OP(name)                \
      .Input("x: T")               \
      .Output("y: T")              \
      .Attr("T: {float, double}")  \
      .Attr("scale: float = 1.0")  \
      .SetShapeFn(UnchangedShape); \
  KERNEL(name)

// Registers a gradient from the body of a function of `attrs` and `g`.
#define GRADIENT(name, ...)                                                    \
  REGISTER_OP_GRADIENT(name,                                                   \
                       []([[maybe_unused]] const tensorflow::AttrSlice& attrs, \
                          [[maybe_unused]] FunctionDef* g) -> absl::Status __VA_ARGS__)

// An op whose gradient tensorflow_ext::Define writes from these nodes.
#define DEFINED(name, ...)                                                                 \
  UNARY_OP(name);                                                                          \
  GRADIENT(name, {                                                                         \
    return Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"}, {__VA_ARGS__}, g); \
  })

// An op whose gradient this call of TensorFlow's helper writes.
#define WRITTEN_BY(call, name, ...) \
  UNARY_OP(name);                   \
  GRADIENT(name, {                  \
    *g = call(__VA_ARGS__);         \
    return absl::OkStatus();        \
  })

using Strings = std::vector<std::string>;
using Nodes = std::vector<FDH::Node>;
const Strings kAnyType = {"T: type"};
const FDH::Node kCopy = {{"dx"}, "Identity", {"dy"}, {{"T", "$T"}}};

// ----- Signatures that do not fit the op. -----

WRITTEN_BY(FDH::Define, "Faulty>TooManyResults", Strings{"x: T", "dy: T"},
           Strings{"dx: T", "dz: T"}, kAnyType,
           Nodes{kCopy, {{"dz"}, "Identity", {"dy"}, {{"T", "$T"}}}});
WRITTEN_BY(FDH::Define, "Faulty>TooFewArguments", Strings{"dy: T"}, Strings{"dx: T"}, kAnyType,
           Nodes{kCopy});
WRITTEN_BY(FDH::Define, "Faulty>ArgumentType", Strings{"x: T", "dy: int64"}, Strings{"dx: T"},
           kAnyType, Nodes{{{"dx"}, "Identity", {"x"}, {{"T", "$T"}}}});
WRITTEN_BY(FDH::Define, "Faulty>ResultType", Strings{"x: T", "dy: T"}, Strings{"dx: bool"},
           kAnyType, Nodes{{{"dx"}, "Less", {"x", "dy"}, {{"T", "$T"}}}});
WRITTEN_BY(FDH::Define, "Faulty>UnknownAttribute", Strings{"x: T", "dy: T"}, Strings{"dx: T"},
           Strings{"T: type", "sharpness: float"}, Nodes{kCopy});
UNARY_OP("Faulty>NoGradientAnywhere");
UNARY_OP("Faulty>DeclaredNone");
REGISTER_OP_NO_GRADIENT("Faulty>DeclaredNone");

// ----- Creators that fail. -----

UNARY_OP("Faulty>CreatorFails");
GRADIENT("Faulty>CreatorFails", { return absl::UnimplementedError("scale=0 is not supported"); });
UNARY_OP("Faulty>EmptyDefinition");
GRADIENT("Faulty>EmptyDefinition", { return absl::OkStatus(); });
UNARY_OP("Faulty>Throws");
GRADIENT("Faulty>Throws", { throw std::runtime_error("the table is on fire"); });
UNARY_OP("Faulty>ThrowsANumber");
GRADIENT("Faulty>ThrowsANumber", { throw 7; });

// ----- Nodes with a mistake. -----

// A definition in the form that FDH::Define refuses to write.
FunctionDef Raw(const std::string& result, const Nodes& nodes) {
  return FDH::Create("", {"x: float", "dy: float"}, {"dx: float"}, {}, nodes, {{"dx", result}});
}

WRITTEN_BY(Raw, "Faulty>UnknownOp", "a:y:0", {{{"a"}, "Faulty>Nonexistent", {"dy"}, {}}});
WRITTEN_BY(Raw, "Faulty>UnknownInput", "a:output:0",
           {{{"a"}, "Identity", {"elsewhere"}, {{"T", DT_FLOAT}}}});
WRITTEN_BY(Raw, "Faulty>UnknownResult", "elsewhere:output:0",
           {{{"a"}, "Identity", {"dy"}, {{"T", DT_FLOAT}}}});
WRITTEN_BY(Raw, "Faulty>MissingNodeAttribute", "a:y:0",
           {{{"a"}, "Cast", {"dy"}, {{"SrcT", DT_FLOAT}}}});
WRITTEN_BY(Raw, "Faulty>NodeInputType", "a:output:0",
           {{{"a"}, "Identity", {"dy"}, {{"T", DT_INT32}}}});
WRITTEN_BY(Raw, "Faulty>Cycle", "a:z:0",
           {{{"a"}, "Mul", {"dy", "b:z:0"}, {{"T", DT_FLOAT}}},
            {{"b"}, "Mul", {"dy", "a:z:0"}, {{"T", DT_FLOAT}}}});
// Correct as a function, but its shapes never match.
WRITTEN_BY(
    Raw, "Faulty>ShapesNeverFit", "c:z:0",
    {{{"a"}, "Identity", {"dy"}, {{"T", DT_FLOAT}}},
     {{"b"}, "ExpandDims", {"a:output:0", "axis:output:0"}, {{"T", DT_FLOAT}, {"Tdim", DT_INT32}}},
     FDH::Const<int32_t>("axis", 7),
     {{"c"}, "Mul", {"b:output:0", "dy"}, {{"T", DT_FLOAT}}}});
WRITTEN_BY(FDH::Define, "Faulty>UnknownPlaceholder", Strings{"x: T", "dy: T"}, Strings{"dx: T"},
           kAnyType, Nodes{{{"dx"}, "Mul", {"dy", "x"}, {{"T", "$U"}}}});
// Correct for float.
WRITTEN_BY(FDH::Define, "Faulty>FloatConstant", Strings{"x: T", "dy: T"}, Strings{"dx: T"},
           kAnyType,
           Nodes{FDH::Const("half", 0.5f), {{"dx"}, "Mul", {"dy", "half"}, {{"T", "$T"}}}});
DEFINED("Faulty>DefinedWrong", {{"dx"}, "Mul", {"dy", "slope"}});

// ----- Gradients of another shape than their input. -----

DEFINED("Faulty>Summed", FDH::Const("first", 0), {{"dx"}, "Sum", {"dy", "first"}});

// y may be smaller than x; its gradient is not summed.
REGISTER_OP("Faulty>NotSummed")
    .Input("x: T")
    .Input("y: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .SetShapeFn(UnchangedShape);
KERNEL("Faulty>NotSummed");
GRADIENT("Faulty>NotSummed", {
  return Define({"x: T", "y: T", "dz: T"}, {"dx: T", "dy: T"}, {"T: {float, double}"},
                {{{"dx"}, "Identity", {"dz"}}, {{"dy"}, "Mul", {"dz", "x"}}}, g);
});

// A row of a variable.
REGISTER_OP("Faulty>FirstRow")
    .Input("variable: resource")
    .Output("row: float")
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->Vector(2));
      return absl::OkStatus();
    });
GRADIENT("Faulty>FirstRow", {
  return Define({"variable: resource", "drow: float"}, {"dvariable: float"}, {},
                {{{"dvariable"}, "Neg", {"drow"}}}, g);
});

// Correct: the shape of its gradient is known only at run time.
DEFINED("Featured>Reshaped", {{"shape"}, "Shape", {"x"}}, {{"dx"}, "Reshape", {"dy", "shape"}});

// ----- Checks of all types. -----

// Refuses double with an error.
UNARY_OP("Featured>NotForDouble");
GRADIENT("Featured>NotForDouble", {
  tensorflow::DataType type;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attrs, "T", &type));
  if (type != DT_FLOAT) return absl::UnimplementedError("float alone");
  return Define({"x: float", "dy: float"}, {"dx: float"}, {}, {{{"dx"}, "Mul", {"dy", "x"}}}, g);
});

// Has an attribute without a default.
REGISTER_OP("Featured>Named")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double}")
    .Attr("which: string")
    .SetShapeFn(UnknownShape);
GRADIENT("Featured>Named", {
  return Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                {{{"dx"}, "Mul", {"dy", "x"}}}, g);
});

// Wrong if both are double, one of many combinations.
#define MANY_TYPES "{float, double, half, bfloat16, int8, int16, int32, int64}"
REGISTER_OP("Faulty>OfManyTypes")
    .Input("a: A")
    .Input("b: B")
    .Input("c: C")
    .Input("d: D")
    .Output("y: A")
    .Attr("A: " MANY_TYPES)
    .Attr("B: " MANY_TYPES)
    .Attr("C: " MANY_TYPES)
    .Attr("D: " MANY_TYPES)
    .SetShapeFn(UnknownShape);
GRADIENT("Faulty>OfManyTypes", {
  return Define({"a: A", "b: B", "c: C", "d: D", "dy: A"}, {"da: A", "db: B", "dc: C", "dd: D"},
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

// ----- Every feature of a definition. -----

// Two inputs, one of an integer type, and two outputs. The gradient runs the forward op again. It
// has work that only the integer's gradient needs, a control dependency and a device.
REGISTER_OP("Featured>Pair")
    .Input("x: T")
    .Input("count: int32")
    .Output("y: T")
    .Output("statistic: T")
    .Attr("T: {float, double}")
    .Attr("scale: float = 1.0")
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->input(0));
      c->set_output(1, c->input(0));
      return absl::OkStatus();
    });
GRADIENT("Featured>Pair", {
  *g = FDH::Define(
      // Arg defs
      {"x: T", "count: int32", "dy: T", "dstatistic: T"},
      // Ret val defs
      {"dx: T", "dcount: int32"},
      // Attr defs
      {"T: {float, double}", "scale: float"},
      // Nodes
      {
          {{"y", "statistic"}, "Featured>Pair", {"x", "count"}, {{"T", "$T"}, {"scale", "$scale"}}},
          {{"checked"}, "Identity", {"dstatistic"}, {{"T", "$T"}}},
          {{"product"}, "Mul", {"dy", "statistic"}, {{"T", "$T"}}, {"checked"}},
          {{"dx"}, "AddV2", {"product", "dstatistic"}, {{"T", "$T"}}},
          {{"ones"}, "OnesLike", {"count"}, {{"T", DT_INT32}}},
          {{"dcount"}, "Neg", {"ones"}, {{"T", DT_INT32}}},
      });
  // FDH::Define drops devices.
  for (auto& node : *g->mutable_node_def()) {
    if (node.name() == "product") node.set_device("/device:CPU:0");
  }
  return absl::OkStatus();
});

// The same with another attribute, so it cannot reuse the forward op's result.
UNARY_OP("Featured>Rescaled");
GRADIENT("Featured>Rescaled", {
  return Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}", "scale: float"},
                {
                    {{"other"}, "Featured>Rescaled", {"x"}, {{"scale", 3.0f}}},
                    {{"same"}, "Featured>Rescaled", {"x"}, {{"scale", "$scale"}}},
                    {{"sum"}, "AddV2", {"other", "same"}},
                    {{"dx"}, "Mul", {"sum", "dy"}},
                },
                g);
});

// A list as input and as output, and an input without a gradient.
REGISTER_OP("Featured>Lists")
    .Input("values: N * float")
    .Input("weight: float")
    .Output("sums: N * float")
    .Attr("N: int >= 1")
    .SetShapeFn(UnknownShape);
// FDH::Define needs a name for each output; Create takes a list as a whole.
GRADIENT("Featured>Lists", {
  *g = FDH::Create(
      "", {"values: N * float", "weight: float", "d: N * float"},
      {"dvalues: N * float", "dweight: float"}, {"N: int"},
      {
          {{"copies"}, "IdentityN", {"d"}, {{"T", tensorflow::DataTypeSlice{DT_FLOAT, DT_FLOAT}}}},
          {{"none"}, "TfExt>NoGradient", {"weight"}, {{"T", DT_FLOAT}}},
      },
      {{"dvalues", "copies:output"}, {"dweight", "none:zeros:0"}});
  return absl::OkStatus();
});

}  // namespace
