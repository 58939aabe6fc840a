// Ops without gradients, for the libraries of formulas. They have no kernels, because the tests
// only build graphs.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace {

#define UNARY_OP(name)            \
  REGISTER_OP(name)               \
      .Input("x: T")              \
      .Output("y: T")             \
      .Attr("T: {float, double}") \
      .Attr("scale: float = 1.0") \
      .SetShapeFn(tensorflow::shape_inference::UnchangedShape)

UNARY_OP("Faulty>UnsetFactor");
UNARY_OP("Faulty>UnsetFactors");
UNARY_OP("Faulty>UnsetArgument");
UNARY_OP("Faulty>UnsetAmongArguments");
UNARY_OP("Faulty>UnsetShape");
UNARY_OP("Faulty>TwoNumbers");
UNARY_OP("Faulty>ReturnsTwice");
UNARY_OP("Faulty>ReturnsNothing");
UNARY_OP("Faulty>ReturnsTooMuch");
UNARY_OP("Faulty>ReturnsAnotherType");
UNARY_OP("Faulty>FloatConstant");
UNARY_OP("Faulty>UnknownOp");
UNARY_OP("Faulty>UnknownNodeAttribute");
UNARY_OP("Faulty>OpWithoutOutput");
UNARY_OP("Faulty>NoSuchInput");
UNARY_OP("Faulty>NoSuchArgument");
UNARY_OP("Faulty>NoSuchOutput");
UNARY_OP("Faulty>NoSuchAttribute");
UNARY_OP("Faulty>AttributeOfAnotherKind");
UNARY_OP("Faulty>NoSuchAttributeOfOp");
UNARY_OP("Faulty>ConstantOfStrings");
UNARY_OP("Faulty>AfterNothing");
UNARY_OP("Faulty>Throws");
UNARY_OP("Faulty>ThrowsANumber");
UNARY_OP("Faulty>IsUnimplemented");
UNARY_OP("Outside>Formula");
UNARY_OP("Outside>Table");
UNARY_OP("Outside>Throws");
UNARY_OP("Outside>Refuses");

}  // namespace
