// Ops with arguments and attributes of every kind in an OpDef, and with names that are reserved in
// some language. They compute nothing.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace {

using tensorflow::shape_inference::UnknownShape;

REGISTER_OP("Kinds>Arguments")
    .Input("one: T")
    .Input("several: N * T")
    .Input("fixed: M * int32")
    .Input("mixed: Types")
    .Output("mixed_again: Types")
    .Output("more: K * T")
    .Output("last: string")
    .Output("others: Others")
    .Attr("T: type")
    .Attr("N: int >= 2")
    .Attr("M: int")
    .Attr("K: int >= 1")
    .Attr("Types: list({int32, float, string}) >= 1")
    .Attr("Others: list(type) >= 1")
    .SetShapeFn(UnknownShape);

REGISTER_OP("Kinds>Required")
    .Input("input: float")
    .Output("output: result")
    .Attr("i: int")
    .Attr("f: float")
    .Attr("b: bool")
    .Attr("s: string")
    .Attr("result: type")
    .Attr("shape: shape")
    .Attr("constant: tensor")
    .SetShapeFn(UnknownShape);

REGISTER_OP("Kinds>RequiredLists")
    .Input("input: float")
    .Output("output: float")
    .Attr("is: list(int)")
    .Attr("fs: list(float)")
    .Attr("bs: list(bool)")
    .Attr("ss: list(string) >= 3")
    .Attr("types: list(type)")
    .Attr("shapes: list(shape)")
    .Attr("constants: list(tensor)")
    .SetShapeFn(UnknownShape);

REGISTER_OP("Kinds>Optional")
    .Input("input: float")
    .Output("output: result")
    .Attr("i: int = -9223372036854775807")
    .Attr("f: float = 0.1")
    .Attr("b: bool = true")
    .Attr("s: string = 'say \"no\" \\\\ twice'")
    .Attr("choice: {'left', 'right'} = 'right'")
    .Attr("result: type = DT_INT32")
    .Attr("shape: shape = { dim { size: 3 } dim { size: -1 } }")
    .Attr("any_shape: shape = { unknown_rank: true }")
    .Attr("constant: tensor = { dtype: DT_FLOAT tensor_shape {} float_val: 1 }")
    .SetShapeFn(UnknownShape);

REGISTER_OP("Kinds>OptionalLists")
    .Input("input: float")
    .Output("output: float")
    .Attr("is: list(int) = [5, -7]")
    .Attr("fs: list(float) = [0.1, 1e-30, 1e30]")
    .Attr("bs: list(bool) = [true, false, true]")
    .Attr("ss: list(string) = ['', 'a']")
    .Attr("types: list(type) = [DT_HALF, DT_STRING]")
    .Attr("shapes: list(shape) = [{ unknown_rank: true }, { dim { size: 1 } }]")
    .Attr("nothing: list(int) = []")
    .SetShapeFn(UnknownShape);

REGISTER_OP("Kinds>Functions")
    .Input("input: float")
    .Output("output: float")
    .Attr("function: func")
    .Attr("functions: list(func)")
    .Attr("other: func = { name: 'function_by_default' }")
    .SetShapeFn(UnknownShape);

// Names that are keywords of a language, or that wrappers use themselves.
REGISTER_OP("Kinds>Words")
    .Input("class: float")
    .Input("func: float")
    .Input("scope: float")
    .Output("operation: float")
    .Output("self: float")
    .Output("final: float")
    .Attr("type: int")
    .Attr("match: int")
    .Attr("interface: int")
    .Attr("x: int = 0")
    .Attr("words: int = 0")
    .Attr("attrs: int = 0")
    .Attr("default: int = 0")
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
Text that ends a comment: */ and \
draws the next line into one, <b>&amp; {@code tags}.

class: Text with a `code` word and 100% of signs.
)doc");

REGISTER_OP("Kinds>Nothing").SetIsStateful().SetShapeFn(UnknownShape);

// Without a namespace.
REGISTER_OP("KindsSource")
    .Output("output: dtype")
    .Attr("dtype: {float, int32}")
    .SetShapeFn(UnknownShape);

}  // namespace
