# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's ops whose gradients this library adds, by theme."""

_OPS = {
    "math": (
        "BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e "
        "BesselK1 BesselK1e BesselY0 BesselY1 Dawsn Digamma Erfc Expint FresnelCos "
        "FresnelSin Spence Ceil Floor Rint Round ComplexAbs Betainc FloorDiv FloorMod "
        "TruncateDiv TruncateMod Mod MulNoNan Xdivy Xlogy Xlog1py Igamma Igammac "
        "IgammaGradA RandomGammaGrad Polygamma Zeta "
        "NextAfter Cross EuclideanNorm Cumprod CumulativeLogsumexp AccumulateNV2 "
        "ArgMax ArgMin SegmentMax SegmentMin SegmentMean SegmentProd SegmentMaxV2 "
        "SegmentMinV2 SegmentProdV2 SegmentSumV2 UnsortedSegmentProd SparseMatMul "
        "XlaEinsum InvGrad ReciprocalGrad RsqrtGrad "
        "SqrtGrad SigmoidGrad TanhGrad"
    ),
    "nn": (
        "EluGrad SeluGrad ReluGrad Relu6Grad SoftplusGrad SoftsignGrad AvgPoolGrad "
        "AvgPool3DGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradV2 MaxPoolGradGradV2 "
        "MaxPool3DGrad MaxPool3DGradGrad MaxPoolWithArgmax MaxPoolGradWithArgmax "
        "LRNGrad BiasAddGrad BiasAddV1 BatchNormWithGlobalNormalization FusedBatchNorm "
        "FusedBatchNormV2 FusedBatchNormGrad FusedBatchNormGradV2 "
        "FusedBatchNormGradV3 Conv2DBackpropFilter Conv3D Conv3DBackpropFilterV2 "
        "Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropFilter "
        "DepthwiseConv2dNativeBackpropInput Dilation2D "
        "SparseSoftmaxCrossEntropyWithLogits TopK TopKV2 NthElement ApproxTopK "
        "IsotonicRegression CTCLoss CTCLossV2 FakeQuantWithMinMaxArgs "
        "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel "
        "FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVarsGradient "
        "FakeQuantWithMinMaxVarsPerChannelGradient QuantizeAndDequantizeV2 "
        "QuantizeAndDequantizeV4Grad BlockLSTM BlockLSTMGrad BlockLSTMGradV2 "
        "BlockLSTMV2 GRUBlockCell GRUBlockCellGrad LSTMBlockCell LSTMBlockCellGrad "
        "BatchNormWithGlobalNormalizationGrad Conv Conv2DBackpropFilterV2 "
        "Conv2DBackpropInputV2 Conv3DBackpropFilter Conv3DBackpropInput Dequantize "
        "Dilation2DBackpropFilter Dilation2DBackpropInput FractionalAvgPoolGrad "
        "FractionalMaxPoolGrad FusedPadConv2D FusedResizeAndPadConv2D "
        "KthOrderStatistic MaxPoolGradGradWithArgmax UniformDequantize "
        "CTCGreedyDecoder NearestNeighbors"
    ),
    "array": (
        "Concat ConjugateTranspose EnsureShape ExtractImagePatches "
        "ExtractVolumePatches Gather IdentityN MatrixDiagPart MatrixDiagPartV2 "
        "MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 "
        "MatrixSetDiagV3 PlaceholderWithDefault PreventGradient Print CheckNumericsV2 "
        "Reverse StridedSliceGrad TensorStridedSliceUpdate TensorScatterAdd "
        "TensorScatterSub TensorScatterUpdate TensorScatterMax TensorScatterMin "
        "ResourceGather ResourceGatherNd DebugGradientIdentity DebugIdentityV2 "
        "Copy CopyHost DebugIdentity DebugIdentityV3 DeepCopy GuaranteeConst Snapshot "
        "InplaceAdd InplaceSub InplaceUpdate ParallelConcat StatelessShuffle Bitcast "
        "Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2 ListDiff Range LinSpace "
        "RaggedRange "
        "XlaSharding OptionalFromValue OptionalGetValue "
        "CompositeTensorVariantFromComponents CompositeTensorVariantToComponents "
        "TileGrad"
    ),
    "linalg": (
        "Cholesky MatrixDeterminant LogMatrixDeterminant MatrixInverse MatrixSolve "
        "MatrixSolveLs MatrixTriangularSolve BandedTriangularSolve MatrixSquareRoot Qr "
        "SelfAdjointEigV2 Eig Svd TridiagonalSolve TridiagonalMatMul MatrixExponential "
        "MatrixLogarithm Lu CholeskyGrad SelfAdjointEig BatchCholesky "
        "BatchCholeskyGrad BatchMatrixBandPart BatchMatrixDeterminant BatchMatrixDiag "
        "BatchMatrixDiagPart BatchMatrixInverse BatchMatrixSetDiag BatchMatrixSolve "
        "BatchMatrixSolveLs BatchMatrixTriangularSolve BatchSelfAdjointEig "
        "BatchSelfAdjointEigV2 BatchSvd"
    ),
    "spectral": (
        "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D "
        "FFTND IFFTND RFFTND IRFFTND BatchFFT BatchFFT2D BatchFFT3D BatchIFFT "
        "BatchIFFT2D BatchIFFT3D "
        "AudioSpectrogram Mfcc"
    ),
    "xla": (
        "XlaBroadcastHelper XlaConcatND XlaConv XlaConvV2 XlaDot XlaDotV2 "
        "XlaDynamicSlice XlaDynamicUpdateSlice XlaGather XlaKeyValueSort "
        "XlaOptimizationBarrier XlaPad XlaReducePrecision XlaSelfAdjointEig XlaSort "
        "XlaSplitND XlaSvd XlaWhile"
    ),
    "image": (
        "RGBToHSV ImageProjectiveTransformV2 ImageProjectiveTransformV3 "
        "CropAndResizeGradImage ResizeBicubicGrad ResizeBilinearGrad "
        "ResizeNearestNeighborGrad ScaleAndTranslateGrad ResizeArea "
        "CropAndResizeGradBoxes HSVToRGB AdjustHue AdjustSaturation AdjustContrast "
        "AdjustContrastv2 DrawBoundingBoxes DrawBoundingBoxesV2 ExtractGlimpse "
        "ExtractGlimpseV2"
    ),
    "random": (
        "RandomGamma StatelessRandomGammaV2 StatelessRandomGammaV3 "
        "StatelessParameterizedTruncatedNormal ParameterizedTruncatedNormal"
    ),
    "sparse": (
        "SparseAdd SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv "
        "SparseFillEmptyRows SparseReduceSum SparseReorder SparseSegmentSum "
        "SparseSegmentMean SparseSegmentSqrtN SparseSegmentSumWithNumSegments "
        "SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments "
        "SparseSlice SparseSoftmax SparseSparseMaximum SparseSparseMinimum "
        "SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense "
        "SparseTensorToCSRSparseMatrix CSRSparseMatrixToDense "
        "CSRSparseMatrixToSparseTensor DenseToCSRSparseMatrix SparseMatrixAdd "
        "SparseMatrixMatMul SparseMatrixMul SparseMatrixSoftmax "
        "SparseMatrixSparseMatMul SparseMatrixTranspose "
        "SparseReduceMax SparseReduceMaxSparse SparseReduceSumSparse SparseConcat "
        "SparseSplit SparseSegmentSumGradV2 SparseSegmentMeanGradV2 "
        "SparseSegmentSqrtNGradV2 Bincount DenseBincount SparseBincount RaggedBincount "
        "DenseCountSparseOutput SparseCountSparseOutput RaggedCountSparseOutput "
        "CSRSparseMatrixComponents"
    ),
    "ragged": (
        "RaggedFillEmptyRows RaggedGather RaggedTensorFromVariant RaggedTensorToSparse "
        "RaggedTensorToTensor RaggedTensorToVariant"
    ),
    "tensor_list": (
        "TensorListConcat TensorListConcatLists TensorListConcatV2 "
        "TensorListFromTensor TensorListGather "
        "TensorListGetItem TensorListPopBack TensorListPushBack TensorListResize "
        "TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 "
        "TensorListSetItem TensorListSplit TensorListStack"
    ),
    "tensor_map": "TensorMapErase TensorMapInsert TensorMapLookup",
    "tensor_array": " ".join(
        f"TensorArray{access}{version}"
        for access in ("Concat", "Gather", "Read", "Scatter", "Split", "Write")
        for version in ("", "V2", "V3")
    ),
    "control_flow": (
        "Case For If MapDefun RemoteCall StatelessCase StatelessIf StatelessWhile "
        "While Merge Switch SymbolicGradient"
    ),
    # In the place of TensorFlow's client gradients. cases_stock*.py have those of
    # TensorFlow's that stay, too.
    "stock": (
        "Acos Acosh Add AddV2 Angle Asin Asinh Atan Atan2 Atanh BatchMatMulV2 "
        "BatchMatMulV3 BroadcastTo Complex ConcatV2 Conv2D Cos Cosh CropAndResize "
        "DepthToSpace DepthwiseConv2dNative Div DivNoNan DynamicStitch Exp Expm1 "
        "FusedBatchNormV3 GatherNd GatherV2 Identity Imag Inv LRN Log Log1p LogSoftmax "
        "Max MaxPool Maximum Mean Min Minimum Mul Pad PadV2 PartitionedCall Pow Prod "
        "QuantizeAndDequantizeV4 ReadVariableOp Real RealDiv Reciprocal Relu "
        "ResizeBicubic Rsqrt ScaleAndTranslate ScatterNd ScatterNdNonAliasingAdd "
        "Sigmoid Sin Sinh Slice SoftmaxCrossEntropyWithLogits SpaceToDepth Sqrt Square "
        "SquaredDifference StatefulPartitionedCall StridedSlice Sub Sum Tan Tanh "
        "UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentSum"
    ),
}

# The families of cases modules: cases_<family>*.py.
OPS = {family: tuple(names.split()) for family, names in _OPS.items()}
FAMILIES = tuple(OPS)
STAND_INS = OPS["stock"]
# No CPU has kernels of these; the cases of structure_test.py.
_WITHOUT_KERNELS = (
    "CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2 CudnnRNNParamsToCanonical "
    "CudnnRNNParamsToCanonicalV2 XlaAllReduce "
    "AllToAll CollectivePermute CrossReplicaSum NcclAllReduce NcclBroadcast NcclReduce "
    "CudnnRNN CudnnRNNV2 CudnnRNNV3 XlaSpmdFullToShardShape XlaSpmdShardToFullShape "
    "Relayout RelayoutLike CopyToMesh CopyToMeshGrad"
)
COMPARED_BY_STRUCTURE = tuple(_WITHOUT_KERNELS.split())
ALL_OPS = (*(op for ops in OPS.values() for op in ops), *COMPARED_BY_STRUCTURE)

_BY_STRUCTURE = "structure_test.py has its cases: it takes a reference"
_NO_VALUES = "it has no gradient; the cases of other ops on lists or maps hold it"
# The other ops with a gradient of this library, and where that is tested: a gradient
# op by the second order of the op named here, which goes through it.
WITHOUT_CASES = {
    "RaggedFillEmptyRowsGrad": "RaggedFillEmptyRows",
    "RaggedTensorToVariantGradient": "RaggedTensorToVariant",
    "SparseAddGrad": "SparseAdd",
    "SparseFillEmptyRowsGrad": "SparseFillEmptyRows",
    "SparseMatrixSoftmaxGrad": "SparseMatrixSoftmax",
    "SparseSegmentMeanGrad": "SparseSegmentMean",
    "SparseSegmentSqrtNGrad": "SparseSegmentSqrtN",
    "SparseSegmentSumGrad": "SparseSegmentSum",
    "SparseSliceGrad": "SparseSlice",
    **dict.fromkeys(("DebugGradientRefIdentity", "RefMerge", "RefSwitch"), _BY_STRUCTURE),
    **dict.fromkeys(("EmptyTensorList", "TensorListReserve"), _NO_VALUES),
    **dict.fromkeys(("TensorListElementShape", "TensorListLength"), _NO_VALUES),
    **dict.fromkeys(("TensorMapHasKey", "TensorMapSize"), _NO_VALUES),
    **dict.fromkeys(("TensorMapStackKeys", "EmptyTensorMap"), _NO_VALUES),
    "OnesLike": "it has no gradient: only the shape of its input counts",
}

_ZERO = "the derivative is zero everywhere"
_NO_DERIVATIVE = "TensorFlow's op that computes the gradient has no derivative"
# Of these no second order is checked, for the reason given.
NO_SECOND_ORDER = {
    "ArgMax": _ZERO,
    "ArgMin": _ZERO,
    "Ceil": _ZERO,
    "Floor": _ZERO,
    "FloorDiv": _ZERO,
    "Rint": _ZERO,
    "Round": _ZERO,
    "TruncateDiv": _ZERO,
    "CTCLoss": "its gradient is an output of the op, which has no derivative",
    "CTCLossV2": "its gradient is an output of the op, which has no derivative",
    "PreventGradient": "the op is there to refuse",
    "XlaWhile": "XLA does not know how often the loop that goes back runs at most",
    **dict.fromkeys(("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"), _NO_DERIVATIVE),
}

_REFERENCE = "a reference, and functions take none"
_DEAD = (
    "the function runtime takes the gradient of a node for a call, and a call with a "
    "dead input gives nothing"
)
_PASSES = "its gradient needs functions that keep what each pass made"
# The ops with a gradient in the client registry and none in the function registry,
# and why.
ONLY_IN_CLIENTS = {
    **{
        f"TensorArray{access}": _REFERENCE
        for access in ("Concat", "Gather", "Read", "Scatter", "Split", "Write")
    },
    **dict.fromkeys(("RefIdentity", "RefMerge", "RefSwitch"), _REFERENCE),
    "DebugGradientRefIdentity": _REFERENCE,
    **dict.fromkeys(("Merge", "Switch"), _DEAD),
    **dict.fromkeys(("For", "StatelessWhile", "While", "XlaWhile"), _PASSES),
    "SymbolicGradient": "its gradient is a function that only clients make",
    "XlaSpmdFullToShardShape": (
        "its gradient has the full shape as an attribute, which a definition does not know"
    ),
}
# Cases of the other ops that the function runtime cannot differentiate, and why.
NOT_IN_FUNCTIONS = {
    "MapDefun-no_rows": (
        "TensorFlow's kernel takes the shapes of the results from the node where there "
        "are no rows, and a definition does not know them"
    ),
    **dict.fromkeys(
        ("XlaConcatND-padded_compiled", "XlaSplitND-padded_compiled"),
        "XLA alone has kernels of it, and the function runtime does not compile the "
        "gradient of a call that XLA compiles",
    ),
}
# Ops and cases of which Python does not get this library's gradient, and why.
_OF_GRAPH = "its gradient is made of functions, which clients in C++ alone make"
_STATIC_SHAPE = "the shape that TensorFlow works out for the result beforehand is wrong"
_ARRAY = "TensorFlow's own: in a graph alone, and of first order"
_NUMBER = "TensorFlow lowers the gradient to a Switch, which takes a truth value"
NOT_IN_PYTHON = {
    **dict.fromkeys(("For", "MapDefun", "RemoteCall", "SymbolicGradient"), _OF_GRAPH),
    **dict.fromkeys(("StatelessWhile", "While", "XlaWhile"), _OF_GRAPH),
    **dict.fromkeys(OPS["tensor_array"], _ARRAY),
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
    "part of a loop of TensorFlow 1: TensorFlow differentiates whole loops that "
    "TF_NewWhile made, and ends the process by others"
)
_REFUSES = "Python's is an error, too"
# The ops with a gradient in Python and none in C and C++, and why.
ONLY_IN_PYTHON = {
    **dict.fromkeys(("Enter", "Exit", "NextIteration"), _LOOP),
    **dict.fromkeys(("RefEnter", "RefExit", "RefNextIteration"), _LOOP),
    "EagerPyFunc": "its function and the tape of its run are Python objects",
    "TPUEmbeddingActivations": (
        "Python's leaves the gradient in a collection of its own graph, for the "
        "embedding's optimizer"
    ),
    "XlaClusterOutput": f"{_REFUSES}: the gradient belongs into the compiled cluster",
    "_EagerConst": f"{_REFUSES}: TensorFlow's runtime adds the op, no client does",
}
