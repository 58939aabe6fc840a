// The ops of tapes; tape_ops.cc runs them.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/bridge/registration.h"

namespace tensorflow_ext {

using tensorflow::shape_inference::UnknownShape;

REGISTER_OP("TfExt>NewTape")
    .Output("tape: int64")
    .Attr("persistent: bool = false")
    .Attr("watch_variables: bool = true")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
Makes a gradient tape, which records the eager ops that run on what it watches.

The ops of tapes are for languages that run ops by name (tape.h has the C functions, and says what a
tape does). They work in eager mode only.

A tape belongs to the eager context and to the thread of the next op that names it. So run such an
op immediately (`TfExt>TapeControl` with the action 'resume' does nothing else). In an asynchronous
context, read the number first.

tape: A scalar, which names the tape for the other ops.
persistent: Whether the tape gives more than one gradient.
watch_variables: Whether the tape also watches each variable that its thread reads.
)doc");

REGISTER_OP("TfExt>TapeWatch")
    .Input("tape: int64")
    .Input("x: T")
    .Attr("T: type")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
Lets a tape watch a tensor or, if `x` is its handle, a variable.

tape: The output of `TfExt>NewTape`.
x: Floating point or complex numbers of any shape, or a resource.
)doc");

REGISTER_OP("TfExt>TapeControl")
    .Input("tape: int64")
    .Attr("action: {'stop', 'resume', 'reset', 'delete'}")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
Stops or resumes recording, lets a tape forget all that it has recorded and watched, or deletes it.

tape: The output of `TfExt>NewTape`.
action: The action.
)doc");

REGISTER_OP("TfExt>TapeGradient")
    .Input("tape: int64")
    .Input("y: Ty")
    .Input("x: Tx")
    .Input("dy: Tdy")
    .Output("dx: Tdx")
    .Attr("Ty: list(type) >= 1")
    .Attr("Tx: list(type) >= 1")
    .Attr("Tdy: list(type) >= 0")
    .Attr("Tdx: list(type) >= 1")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
The gradients of the sum of the tensors `y` by each `x`, from what a tape has recorded.

tape: The output of `TfExt>NewTape`.
y: Tensors of floating point or complex numbers.
x: Tensors that the tape watches, or handles of variables.
dy: Nothing (ones), or an upstream gradient for each y, of its type and shape.
dx: The gradients, of the type and shape of x, or of the variable; zeros if no y depends on the x.
Tdx: The types of the gradients.
)doc");

REGISTER_OP("TfExt>TapeGradientSlices")
    .Input("tape: int64")
    .Input("y: Ty")
    .Input("x: Tx")
    .Input("dy: Tdy")
    .Output("values: Tdx")
    .Output("indices: N * int64")
    .Output("shapes: N * int64")
    .Output("reasons: string")
    .Attr("Ty: list(type) >= 1")
    .Attr("Tx: list(type) >= 1")
    .Attr("Tdy: list(type) >= 0")
    .Attr("Tdx: list(type) >= 1")
    .Attr("N: int >= 1")
    .Attr("sum_repeated: bool = false")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
As `TfExt>TapeGradient`, but a gradient that is zero in all rows except those that were gathered is
given as these rows.

tape: The output of `TfExt>NewTape`.
y: Tensors of floating point or complex numbers.
x: Tensors that the tape watches, or handles of variables.
dy: Nothing (ones), or an upstream gradient for each y, of its type and shape.
values: For each x the rows [n, ...], which are added to zeros; or the whole gradient, if it is
  dense.
indices: For each x the places [n] of the rows; empty if the gradient is dense.
shapes: For each x the shape of the gradient; empty if it is dense.
reasons: A vector. For each x the reason why its gradient is dense; empty if it is given as rows.
Tdx: The types of the gradients.
N: The number of x.
sum_repeated: Whether rows of equal indices are added up, so that no two indices are equal.
)doc");

REGISTER_OP("TfExt>TapeJacobian")
    .Input("tape: int64")
    .Input("y: Ty")
    .Input("x: Tx")
    .Output("jacobians: Tdx")
    .Attr("Ty: type")
    .Attr("Tx: list(type) >= 1")
    .Attr("Tdx: list(type) >= 1")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
The Jacobians of `y` by each `x`, from what a persistent tape has recorded.

tape: The output of `TfExt>NewTape`.
y: A tensor of floating point or complex numbers.
x: Tensors that the tape watches, or handles of variables.
jacobians: Tensors of shape [shape of y, shape of x]. It is an error if y does not depend on an x.
Tdx: The types of the Jacobians.
)doc");

REGISTER_OP("TfExt>TapeJvp")
    .Input("tape: int64")
    .Input("y: Ty")
    .Input("x: Tx")
    .Input("tangents: Tt")
    .Output("derivatives: Ty")
    .Attr("Ty: list(type) >= 1")
    .Attr("Tx: list(type) >= 1")
    .Attr("Tt: list(type) >= 1")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
The derivatives of each `y` in the direction `tangents` of the `x`, from what a tape has recorded.

tape: The output of `TfExt>NewTape`.
y: Tensors of floating point or complex numbers.
x: Tensors that the tape watches, or handles of variables.
tangents: For each x a tensor of its type and shape; of the variable, if x is its handle.
derivatives: Tensors of the types and shapes of y; zeros for a y that depends on no x.
)doc");

REGISTER_OP_NO_GRADIENT("TfExt>NewTape");
REGISTER_OP_NO_GRADIENT("TfExt>TapeWatch");
REGISTER_OP_NO_GRADIENT("TfExt>TapeControl");
REGISTER_OP_NO_GRADIENT("TfExt>TapeGradient");
REGISTER_OP_NO_GRADIENT("TfExt>TapeGradientSlices");
REGISTER_OP_NO_GRADIENT("TfExt>TapeJacobian");
REGISTER_OP_NO_GRADIENT("TfExt>TapeJvp");

}  // namespace tensorflow_ext
