# SPDX-License-Identifier: Apache-2.0
"""The words of docs/known_differences.md; known_differences.py has the numbers."""

# Python's gradient is memory as it was found, now right, now wrong.
NOT_REPEATABLE = {
    f"SparseSegment{reduction}{segments}-empty"
    for reduction in ("Sum", "Mean", "SqrtN")
    for segments in ("", "WithNumSegments")
}

# What is behind a row, by op: of the tables about Python.
_NOT_CONJUGATED = "complex operands are not conjugated"
_ALIGNMENT = "takes bands as V3 aligns them by default"
_EMPTY_SEGMENT = "divides by the count of an empty segment"
_UNKNOWN_SHAPES = "needs static inner shapes"
_UNKNOWN_SIZE = "MatrixSetDiag refuses bands of matrices of unknown size"
_POLICY = "drops bad_indices_policy"
_INT64_AXES = "fails for int64 axes where it does not know the shape"
_RANGE = "the gradient op counts as a constant"
_CROPPED = "an fft_length of 1, or that crops"
_TRAINING = "takes the mean inside the variance for a constant"
_TRANSPOSED = "transposes where the adjoint is needed"
_OVERWRITTEN = "zeros where the maxima are as many as the pixels"
_NO_PADDING = "none by the value that pads"
_NOT_WRITTEN = "where an operand is empty: memory that nothing was written to"
_NO_COMPONENT = "wants a gradient of every component"
_ARRAYS = [
    f"TensorArray{access}{version}"
    for access in ("Concat", "Gather", "Read", "Scatter", "Split", "Write")
    for version in ("", "V2", "V3")
]
REASONS = {
    "Betainc": "none by a and b",
    "BlockLSTM": "ignores the gradients of the gates",
    "BesselI0": "by way of BesselI1' at 0",
    "BesselI1": "at 0 it is 1/2; Python says 1",
    "BesselJ1": "divides by x = 0",
    "BlockLSTMV2": "reads the gates in V1's order, ignores their gradients",
    "Cumprod": "0 at the zeros; complex operands are not conjugated",
    "CumulativeLogsumexp": "exclusive: log of an empty sum",
    "DebugGradientIdentity": "works on nodes of its debugger only",
    **dict.fromkeys(
        (
            *("CTCGreedyDecoder", "DrawBoundingBoxes", "ExtractGlimpse", "HSVToRGB"),
            *("LinSpace", "ParameterizedTruncatedNormal", "RaggedRange", "Range"),
            *("SparseConcat", "TensorListConcatLists"),
        ),
        "counts as a constant",
    ),
    **dict.fromkeys(
        ("DynamicStitch", "ParallelDynamicStitch"),
        "repeated indices: gives every row the gradient, the last one is there",
    ),
    "EuclideanNorm": "divides by a norm of 0",
    "FakeQuantWithMinMaxArgs": _RANGE,
    "FakeQuantWithMinMaxArgsGradient": _RANGE,
    "FakeQuantWithMinMaxVars": _RANGE,
    "FakeQuantWithMinMaxVarsGradient": _RANGE,
    "FakeQuantWithMinMaxVarsPerChannel": _RANGE,
    "FakeQuantWithMinMaxVarsPerChannelGradient": _RANGE,
    "FusedBatchNormGrad": _TRAINING,
    "FusedBatchNormGradV2": _TRAINING,
    "FusedBatchNormGradV3": _TRAINING,
    "IRFFT": _CROPPED,
    "IRFFT2D": _CROPPED,
    "ImageProjectiveTransformV2": "none by transforms",
    "ImageProjectiveTransformV3": "none by transforms and fill_value",
    "IsotonicRegression": _UNKNOWN_SHAPES,
    "LogMatrixDeterminant": "leaves out the sign of complex matrices",
    "MatrixDeterminant": "complex: not conjugated; singular: inverts the matrix",
    **dict.fromkeys(("MatrixDiagPartV2", "MatrixDiagPartV3"), f"{_UNKNOWN_SIZE}; {_NO_PADDING}"),
    "MatrixDiagV2": f"{_ALIGNMENT}; {_NO_PADDING}",
    "MatrixDiagV3": _NO_PADDING,
    "MatrixSetDiagV2": _ALIGNMENT,
    "MatrixSolveLs": f"{_TRANSPOSED}; none with fast=False",
    "MatrixSquareRoot": _TRANSPOSED,
    **dict.fromkeys(("MaxPool3D", "MaxPoolV2"), _OVERWRITTEN),
    "MaxPoolWithArgmax": "no kernel of its gradient op for int32",
    "MulNoNan": _NOT_CONJUGATED,
    "OptionalFromValue": _NO_COMPONENT,
    "OptionalGetValue": _NO_COMPONENT,
    "RFFT": _CROPPED,
    "RFFT2D": _CROPPED,
    "RaggedTensorFromVariant": "counts rows for values; no variants in a matrix",
    "RaggedTensorToTensor": "sums over the wrong axes of a broadcast default",
    "RaggedTensorToVariant": "counts rows for values; no variants in a matrix",
    **dict.fromkeys(("ResizeBilinear", "ResizeBilinearGrad"), _RANGE),
    "ResizeBicubic": "none of half images",
    "ScaleAndTranslate": "none by scale and translation",
    "TensorMapErase": "leaves the erased key in the gradient",
    **dict.fromkeys(("UnsortedSegmentMax", "UnsortedSegmentMin"), _EMPTY_SEGMENT),
    "Zeta": "none by x",
    "ResourceGather": "ignores batch_dims",
    "SegmentMax": _EMPTY_SEGMENT,
    "SegmentMean": _EMPTY_SEGMENT,
    "SegmentMin": _EMPTY_SEGMENT,
    "SegmentProd": _NOT_CONJUGATED,
    **dict.fromkeys(("SparseAdd", "SparseAddGrad"), _RANGE),
    "SparseMatrixAdd": "no gradient of the factors; not conjugated",
    "SparseMatrixMatMul": _UNKNOWN_SHAPES,
    "SparseMatrixSparseMatMul": "lacks elements of the operand's pattern",
    "SparseToDense": "scalar values or indices, repeated indices",
    "Spence": "divides by 1 - x = 0",
    "StatelessIf": "a condition that is no boolean",
    "StatelessParameterizedTruncatedNormal": "by mean and stddev, near bounds",
    "StatelessWhile": "a variable that changes its shape",
    "Svd": _UNKNOWN_SHAPES,
    **dict.fromkeys(_ARRAYS, "works with control flow of TensorFlow 1 only"),
    "ConcatV2": _INT64_AXES,
    "ConjugateTranspose": "fails for negative axes",
    **dict.fromkeys(("Conv3D", "DepthwiseConv2dNative"), _NOT_WRITTEN),
    "GatherV2": "needs static shapes with a negative batch_dims",
    "GatherNd": "the gradient of ScatterNd drops bad_indices_policy",
    **dict.fromkeys(("Max", "Mean", "Min", "Sum"), _INT64_AXES),
    "MaxPool": f"{_OVERWRITTEN}; its second order knows no explicit padding",
    "PadV2": _NO_PADDING,
    "Pow": "NaN at 0 to the 0",
    "Prod": f"{_INT64_AXES}; second order: that of Cumprod",
    "Qr": _UNKNOWN_SHAPES,
    "ScatterNd": _POLICY,
    "ScatterNdNonAliasingAdd": _POLICY,
    "SoftmaxCrossEntropyWithLogits": "labels that broadcast; in the second output",
    "SquaredDifference": "takes all of a complex upstream gradient",
    "TensorScatterAdd": _POLICY,
    "TensorScatterSub": _POLICY,
    "TensorScatterUpdate": _POLICY,
    "TensorListGather": "repeated indices, other shapes",
    "TensorListScatter": "repeated indices",
    "TensorListScatterIntoExistingList": "repeated indices, a list that grows",
    "TensorListScatterV2": "repeated indices",
    "TensorListStack": "lists of other shapes",
    "TopK": "also returns a gradient by an input k, which TopK has not",
    "TopKV2": "adds int32 to the indices",
    "TridiagonalSolve": _NOT_CONJUGATED,
    "UnsortedSegmentProd": _NOT_CONJUGATED,
    "Xdivy": _NOT_CONJUGATED,
    "XlaEinsum": "not conjugated, not summed over broadcast axes",
    "Xlog1py": _NOT_CONJUGATED,
    "Xlogy": _NOT_CONJUGATED,
}

# Of the tables about TensorFlow's client gradients.
_INT64 = "int64 axes or indices"
_COMPLEX128 = "Real, Imag, Complex without their result's type"
CLIENT_REASONS = {
    "Acos": _NOT_CONJUGATED,
    "Angle": _COMPLEX128,
    "Atan": _NOT_CONJUGATED,
    "Atan2": "not summed over broadcast axes",
    "BroadcastTo": _INT64,
    "Complex": _COMPLEX128,
    "ConcatV2": "int64 axis; the process ends by a segmentation fault",
    "Conv2D": "drops explicit_paddings and dilations",
    "Conv2DBackpropInput": "drops explicit_paddings",
    "CropAndResize": "fails by the boxes of images of whole numbers",
    "DepthwiseConv2dNative": _NOT_WRITTEN,
    "DynamicStitch": "repeated indices: gives every row the gradient",
    "ResizeBicubic": "fails for half images",
    "ScaleAndTranslate": "fails for images other than float; none by the scale",
    **dict.fromkeys(("UnsortedSegmentMax", "UnsortedSegmentMin"), _EMPTY_SEGMENT),
    "UnsortedSegmentSum": "fails for ids of int16",
    "GatherNd": "drops bad_indices_policy",
    "GatherV2": "negative or int64 axis",
    "Imag": _COMPLEX128,
    "LRN": "drops all attributes",
    "LogSoftmax": "right for matrices only",
    "Max": _INT64,
    "MaxPool": "drops explicit_paddings",
    "Mean": "int64 axes; the process ends by a segmentation fault",
    "Min": _INT64,
    "Pad": _INT64,
    "PadV2": f"{_INT64}; {_NO_PADDING}",
    "PartitionedCall": f"{_NOT_CONJUGATED}; ops without a function gradient",
    "Pow": "NaN at 0",
    "Prod": f"{_NOT_CONJUGATED}; {_INT64}",
    "QuantizeAndDequantizeV4": "an int32 where a floating input is due",
    "Real": _COMPLEX128,
    "ScatterNd": _POLICY,
    "ScatterNdNonAliasingAdd": _POLICY,
    "Slice": _INT64,
    "SoftmaxCrossEntropyWithLogits": "float only",
    "SquaredDifference": _NOT_CONJUGATED,
    "StatefulPartitionedCall": "takes the gradient of a resource for float",
    "StridedSlice": _INT64,
    "Sum": _INT64,
}

# Of the tables about TensorFlow's function gradients.
_INT32 = "int32 axes or indices only"
_NOT_COMPLEX = "no complex operands"
_HALF = "Real, Imag, Complex of one type with their operand"
FUNCTION_REASONS = {
    **dict.fromkeys(
        (
            *("Acos", "Asin", "Atan", "Atanh", "Cos", "Cosh", "Div", "DivNoNan"),
            *("Exp", "Expm1", "Inv", "Log", "Log1p", "Pow", "RealDiv", "Reciprocal"),
            *("Rsqrt", "Sigmoid", "Sin", "Sinh", "Sqrt", "Square"),
            *("SquaredDifference", "Tan", "Tanh", "Xdivy", "Xlog1py", "Xlogy"),
        ),
        _NOT_CONJUGATED,
    ),
    **dict.fromkeys(("Acosh", "Asinh"), "multiplies where it must divide; not conjugated"),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "MatMul"), _NOT_COMPLEX),
    **dict.fromkeys(("Angle", "Complex", "Imag", "Real"), _HALF),
    **dict.fromkeys(
        (
            *("BroadcastTo", "ConcatV2", "ConjugateTranspose", "ExpandDims", "Fill"),
            *("Reshape", "ReverseV2", "StridedSlice", "StridedSliceGrad"),
            "Transpose",
        ),
        _INT32,
    ),
    "Conv2D": "drops explicit_paddings and dilations",
    "GatherNd": f"{_INT32}; {_POLICY}",
    **dict.fromkeys(("Max", "Min"), f"{_INT32}; no keep_dims"),
    "MaxPool": "drops explicit_paddings",
    "PartitionedCall": "by those of the ops in the function",
    "MaxPoolGrad": "takes 2 arguments where the op asks for 4",
    **dict.fromkeys(("Mean", "Sum"), f"{_INT32}, none negative; no empty tensors"),
    "Slice": f"{_INT32}; takes a size of -1 for a number",
}

DOCUMENT = """\
# Where gradients differ

Three parties differentiate an op of TensorFlow {VERSION}: Python, TensorFlow's own
C++ (the client registry behind `TF_AddGradients`, and the function registry) and this
library. This page lists where they disagree. The whole page, numbers included, is
what this prints:

    bazel build tensorflow_ext:libtensorflow_ext.so \\
      tests/stock_gradients:libcsr_kernels.so
    .venv/bin/python tests/stock_gradients/known_differences.py \\
      --library bazel-bin/tensorflow_ext/libtensorflow_ext.so \\
      --kernels bazel-bin/tests/stock_gradients/libcsr_kernels.so

A number is the largest difference, over all inputs, relative to the largest magnitude
of the reference (or to 1 where that is less). Upstream gradients are random. "second"
is the gradient of the gradient; it is looked at where the first is right. The cases
are those of `tests/stock_gradients/cases_*.py`; a row shows an op's worst case and how
many more of its cases differ. Where the library's number is above 1e-9, the case is in
single precision.

## Python gives a wrong gradient

The reference is central differences; for XlaEinsum, TopK and
StatelessParameterizedTruncatedNormal it is Python's gradient of another formula of
the same function. "none": Python says that there is no gradient, which counts as
zero.

After `tensorflow_ext.gradients.mend()` Python has this library's gradients, and
`restore()` puts its own back; `import` alone changes none of these. "after mend()" is
what Python then gives.

| op | case | order | Python | this library | after mend() | why |
|---|---|---|---|---|---|---|
{PYTHON_WRONG}

The six ops SparseSegmentSum, -Mean, -SqrtN and those WithNumSegments are left out: of
no indices, Python's gradient is memory as it was found. Here it is zeros.

## Python gives no gradient

It fails, or lacks the gradient of an op that its gradient uses, which `import
tensorflow_ext` brings.

| op | case | order | Python | this library | after mend() | why |
|---|---|---|---|---|---|---|
{PYTHON_FAILS}

No gradient at all in Python, until `import tensorflow_ext`:

{PYTHON_NONE}

And these have one in C and C++ alone, for it is made of the graph's functions:

{NOT_IN_PYTHON}

## Only Python has a gradient

| op | why |
|---|---|
{ONLY_IN_PYTHON}

An imported graph with a loop of TensorFlow 1 that a gradient goes through ends the
process in `TF_AddGradients`, with this library and without it: TensorFlow takes every
`Exit` for one of a loop that `TF_NewWhile` made. So does a loop of `TF_NewWhile` of
which only some outputs have a gradient. `TfExt_AddGradients` gives an error instead;
so does this library where a branch or a function is on the way to the loop. Of loops
that `TF_NewWhile` made TensorFlow's gradient is right where the gradients of the body
need no value of the forward loop, and else an error of the session, `inputs from
different frames`.

The gradients of arrays have limits of TensorFlow's kernels, which are errors, too: an
element that is read twice, or a concatenation of what was not split, has no second
order.

The gradient of a While is compiled by XLA where the loop's functions prove a bound of
its iterations, as those of `tf.while_loop` with `maximum_iterations` do, or a counter
that is compared with a constant. Its second order is not.

## TensorFlow's client gradients against Python's

{CASES} cases of {OPS} ops that TensorFlow has a client gradient of, in a process
without this library, and with it: its own gradients stand in for those of {STAND_INS}
ops, unless `TFEXT_KEEP_TENSORFLOW_GRADIENTS=1` is in the environment when it is loaded.
The reference is Python, or central differences where Python is wrong or fails. Wrong
numbers:

| op | case | order | TensorFlow's client | this library | why |
|---|---|---|---|---|---|
{CLIENT_WRONG}

Errors:

| op | case | order | TensorFlow's client | this library | why |
|---|---|---|---|---|---|
{CLIENT_FAILS}

## TensorFlow's function gradients

`SymbolicGradient` of the case's function in a session, without this library:
{FUNCTION_CASES} cases of {FUNCTION_OPS} ops. The reference is this library's client
gradient, which the tests hold to Python and to differences. With the library, the
function registry has this library's gradients in the place of TensorFlow's, unless
`TFEXT_KEEP_TENSORFLOW_GRADIENTS=1`, and the same tests compare what the function
runtime gives. Wrong numbers:

| op | case | order | function registry | why |
|---|---|---|---|---|
{FUNCTION_WRONG}

Errors:

| op | case | order | function registry | why |
|---|---|---|---|---|
{FUNCTION_FAILS}

A function with a `While`: a default session turns it into a loop of TensorFlow 1 before
it differentiates, and the function runtime's gradient through such a loop is zeros
without a word; that through a `Switch` is an error. With this library, too: nothing can
be registered against it. Clients differentiate both (`TF_AddGradients` of a call).

Not in the tables: CrossEntropy and MapAccumulate, which are no ops; `_ArrayToList` and
`_ListToArray`, which only TensorFlow's runtime adds and whose definitions end the
process; ReadVariableOp, whose input is no number.

## A tensor that leads nowhere

`TF_AddGradients` refuses the whole call where no path leads from one of `x` to `y`
(`Cannot compute the partial derivative for node ... as it's unreachable`). Where shapes
are known, gradients that stand in for TensorFlow's need no Shape of a tensor, so in
second order more tensors lead nowhere than with TensorFlow's: y = x + b differentiated
twice by b is such a case. There is no gradient either way; `TfExt_AddGradients` says so
as Python does, by none, or zeros.

## An output on the way to another

`TF_AddGradients` of two outputs, y = tanh x and the one named, at x = 1; then the
same with an Identity behind each, so that neither lies on the way to the other. In
the second row TensorFlow's `AddSymbolicGradients` loses the upstream gradient of y.
No gradient of an op can mend that; the Identity does, which `TfExt_AddGradients` adds.

| second output | as it is | with Identity | Python |
|---|---|---|---|
{ON_THE_WAY}
"""
