"""TensorFlow's ops whose gradients this library adds, and where clients differ and why.

The cases determine the ops: those of cases_stock*.py that replace TensorFlow's, and all ops that
the other modules have cases of and cases_stock*.py do not.
"""

# Each has the modules cases_<family>*.py.
FAMILIES = (
    *("array", "control_flow", "image", "linalg", "math", "nn", "ragged", "random", "sparse"),
    *("spectral", "stock", "tensor_array", "tensor_list", "tensor_map", "xla"),
)
# These replace TensorFlow's client gradients. cases_stock*.py also have cases of gradients that are
# kept.
_STAND_INS = (
    "Acos Acosh Add AddV2 Angle Asin Asinh Atan Atan2 Atanh BatchMatMulV2 BatchMatMulV3 "
    "BroadcastTo Complex ConcatV2 Conv2D Cos Cosh CropAndResize DepthToSpace "
    "DepthwiseConv2dNative Div DivNoNan DynamicStitch Exp Expm1 FusedBatchNormV3 GatherNd "
    "GatherV2 Identity Imag Inv LRN Log Log1p LogSoftmax Max MaxPool Maximum Mean Min "
    "Minimum Mul Pad PadV2 PartitionedCall Pow Prod QuantizeAndDequantizeV4 ReadVariableOp "
    "Real RealDiv Reciprocal Relu ResizeBicubic Rsqrt ScaleAndTranslate ScatterNd "
    "ScatterNdNonAliasingAdd Sigmoid Sin Sinh Slice SoftmaxCrossEntropyWithLogits "
    "SpaceToDepth Sqrt Square SquaredDifference StatefulPartitionedCall StridedSlice Sub "
    "Sum Tan Tanh UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentSum"
)
STAND_INS = tuple(_STAND_INS.split())
# No CPU has kernels of these; structure_test.py has their cases.
_WITHOUT_KERNELS = (
    "CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2 CudnnRNNParamsToCanonical "
    "CudnnRNNParamsToCanonicalV2 XlaAllReduce "
    "AllToAll CollectivePermute CrossReplicaSum NcclAllReduce NcclBroadcast NcclReduce "
    "CudnnRNN CudnnRNNV2 CudnnRNNV3 XlaSpmdFullToShardShape XlaSpmdShardToFullShape "
    "Relayout RelayoutLike CopyToMesh CopyToMeshGrad"
)
COMPARED_BY_STRUCTURE = tuple(_WITHOUT_KERNELS.split())

_BY_STRUCTURE = "structure_test.py has its cases: it takes a reference"
_NO_VALUES = "it has no gradient; cases of other list or map ops contain it"
# The other ops with a gradient of this library, and where that is tested: a gradient op by the
# second order of the op named here, which goes through it.
WITHOUT_CASES = {
    **{
        f"{op}Grad": op
        for op in (
            *("RaggedFillEmptyRows", "SparseAdd", "SparseFillEmptyRows", "SparseMatrixSoftmax"),
            *("SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum", "SparseSlice"),
        )
    },
    "RaggedTensorToVariantGradient": "RaggedTensorToVariant",
    **dict.fromkeys(("DebugGradientRefIdentity", "RefMerge", "RefSwitch"), _BY_STRUCTURE),
    **dict.fromkeys(("EmptyTensorList", "TensorListReserve"), _NO_VALUES),
    **dict.fromkeys(("TensorListElementShape", "TensorListLength"), _NO_VALUES),
    **dict.fromkeys(("TensorMapHasKey", "TensorMapSize"), _NO_VALUES),
    **dict.fromkeys(("TensorMapStackKeys", "EmptyTensorMap"), _NO_VALUES),
    "OnesLike": "it has no gradient: only the shape of its input counts",
}

_ZERO = "the derivative is zero everywhere"
_NO_DERIVATIVE = "TensorFlow's op that computes the gradient has no derivative"
# The second order of these is not checked, for the given reason.
NO_SECOND_ORDER = {
    **dict.fromkeys(("ArgMax", "ArgMin", "Ceil", "Floor", "FloorDiv"), _ZERO),
    **dict.fromkeys(("Rint", "Round", "TruncateDiv"), _ZERO),
    **dict.fromkeys(
        ("CTCLoss", "CTCLossV2"), "its gradient is an output of the op, which has no gradient"
    ),
    "PreventGradient": "the op exists to forbid differentiation",
    "XlaWhile": "XLA knows no bound for the iterations of the backward loop",
    **dict.fromkeys(("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"), _NO_DERIVATIVE),
}

_ACCESSES = ("Concat", "Gather", "Read", "Scatter", "Split", "Write")
_REFERENCE = "it takes a reference, and functions cannot"
_DEAD = (
    "the function runtime turns the gradient of a node into a call, and a call with a "
    "dead input returns nothing"
)
_PASSES = "its gradient needs functions that keep the results of each iteration"
# Ops with a gradient in the client registry but not in the function registry, and why.
ONLY_IN_CLIENTS = {
    **{f"TensorArray{access}": _REFERENCE for access in _ACCESSES},
    **dict.fromkeys(("RefIdentity", "RefMerge", "RefSwitch"), _REFERENCE),
    "DebugGradientRefIdentity": _REFERENCE,
    **dict.fromkeys(("Merge", "Switch"), _DEAD),
    **dict.fromkeys(("For", "StatelessWhile", "While", "XlaWhile"), _PASSES),
    "SymbolicGradient": "its gradient is a function that only clients create",
    "XlaSpmdFullToShardShape": (
        "its gradient has the full shape as an attribute, which a definition cannot know"
    ),
}
# Cases of the other ops that the function runtime cannot differentiate, and why.
NOT_IN_FUNCTIONS = {
    "MapDefun-no_rows": (
        "without rows, TensorFlow's kernel takes the shapes of the results from the node, "
        "and a definition does not know them"
    ),
    **dict.fromkeys(
        ("XlaConcatND-padded_compiled", "XlaSplitND-padded_compiled"),
        "only XLA has kernels of it, and the function runtime does not compile the "
        "gradient of a call that XLA compiles",
    ),
}
# Ops and cases for which Python does not use this library's gradient, and why.
_OF_GRAPH = "its gradient consists of functions, which only C++ clients create"
_STATIC_SHAPE = "the shape that TensorFlow infers for the result is wrong"
_ARRAY = "TensorFlow's own: only in a graph, and only of first order"
_NUMBER = "TensorFlow lowers the gradient to a Switch, which takes a boolean"
NOT_IN_PYTHON = {
    **dict.fromkeys(("For", "MapDefun", "RemoteCall", "SymbolicGradient"), _OF_GRAPH),
    **dict.fromkeys(("StatelessWhile", "While", "XlaWhile"), _OF_GRAPH),
    **{f"TensorArray{a}{version}": _ARRAY for a in _ACCESSES for version in ("", "V2", "V3")},
    "ExtractVolumePatches-unknown_shape": _STATIC_SHAPE,
    **{f"{kind}FFTND-known_shapes": _STATIC_SHAPE for kind in ("", "I", "R", "IR")},
    **{
        f"GatherV2-batch_dims_-{dims}{shapes}": _STATIC_SHAPE
        for dims in (1, 2)
        for shapes in ("", "_static", "_batch")
    },
    **{f"StatelessIf-on_number_{number}": _NUMBER for number in (0, 2)},
}

_LOOP = (
    "part of a TensorFlow 1 loop: TensorFlow only differentiates whole loops that "
    "TF_NewWhile made, and crashes on others"
)
_REFUSES = "Python also reports an error"
# Ops with a gradient in Python but not in C and C++, and why.
ONLY_IN_PYTHON = {
    **dict.fromkeys(("Enter", "Exit", "NextIteration"), _LOOP),
    **dict.fromkeys(("RefEnter", "RefExit", "RefNextIteration"), _LOOP),
    "EagerPyFunc": "its function and the tape of its run are Python objects",
    "TPUEmbeddingActivations": (
        "Python's gradient goes into a collection of its graph, for the embedding's optimizer"
    ),
    "XlaClusterOutput": f"{_REFUSES}: the gradient belongs in the compiled cluster",
    "_EagerConst": f"{_REFUSES}: only TensorFlow's runtime adds the op",
}
