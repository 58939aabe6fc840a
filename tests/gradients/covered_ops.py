# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's ops whose gradients this library adds, by theme."""

_OPS = {
    "math": (
        "BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e "
        "BesselK1 BesselK1e BesselY0 BesselY1 Dawsn Digamma Erfc Expint FresnelCos "
        "FresnelSin Spence Ceil Floor Rint Round ComplexAbs Betainc FloorDiv FloorMod "
        "TruncateDiv MulNoNan Xdivy Xlogy Xlog1py Igamma Igammac Polygamma Zeta "
        "NextAfter Cross EuclideanNorm Cumprod CumulativeLogsumexp AccumulateNV2 "
        "ArgMax ArgMin SegmentMax SegmentMin SegmentMean SegmentProd "
        "UnsortedSegmentProd SparseMatMul XlaEinsum InvGrad ReciprocalGrad RsqrtGrad "
        "SqrtGrad SigmoidGrad TanhGrad"
    ),
    "nn": (
        "EluGrad SeluGrad ReluGrad Relu6Grad SoftplusGrad AvgPoolGrad AvgPool3DGrad "
        "MaxPoolGrad MaxPoolGradGrad MaxPoolGradV2 MaxPool3DGrad MaxPool3DGradGrad "
        "MaxPoolWithArgmax BiasAddGrad BiasAddV1 BatchNormWithGlobalNormalization "
        "FusedBatchNorm FusedBatchNormV2 FusedBatchNormGrad FusedBatchNormGradV2 "
        "FusedBatchNormGradV3 Conv2DBackpropFilter Conv3D Conv3DBackpropFilterV2 "
        "Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropFilter "
        "DepthwiseConv2dNativeBackpropInput Dilation2D "
        "SparseSoftmaxCrossEntropyWithLogits TopK TopKV2 NthElement "
        "IsotonicRegression CTCLoss CTCLossV2 FakeQuantWithMinMaxArgs "
        "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel "
        "QuantizeAndDequantizeV2 QuantizeAndDequantizeV4Grad BlockLSTM BlockLSTMV2"
    ),
    "array": (
        "Concat ConjugateTranspose EnsureShape ExtractImagePatches "
        "ExtractVolumePatches Gather IdentityN MatrixDiagPart MatrixDiagPartV2 "
        "MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 "
        "MatrixSetDiagV3 PlaceholderWithDefault PreventGradient Print CheckNumericsV2 "
        "Reverse StridedSliceGrad TensorStridedSliceUpdate TensorScatterAdd "
        "TensorScatterSub TensorScatterUpdate TensorScatterMax TensorScatterMin "
        "ResourceGather ResourceGatherNd DebugGradientIdentity DebugIdentityV2 "
        "XlaSharding"
    ),
    "linalg": (
        "Cholesky MatrixDeterminant LogMatrixDeterminant MatrixInverse MatrixSolve "
        "MatrixSolveLs MatrixTriangularSolve BandedTriangularSolve MatrixSquareRoot Qr "
        "SelfAdjointEigV2 Eig Svd TridiagonalSolve TridiagonalMatMul"
    ),
    "spectral": "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D RFFT RFFT2D IRFFT IRFFT2D",
    "image": "RGBToHSV ImageProjectiveTransformV2 ImageProjectiveTransformV3",
    "random": (
        "RandomGamma StatelessRandomGammaV2 StatelessRandomGammaV3 "
        "StatelessParameterizedTruncatedNormal"
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
        "SparseMatrixSparseMatMul SparseMatrixTranspose"
    ),
    "ragged": (
        "RaggedFillEmptyRows RaggedGather RaggedTensorFromVariant RaggedTensorToSparse "
        "RaggedTensorToTensor RaggedTensorToVariant"
    ),
    "tensor_list": (
        "TensorListConcat TensorListConcatV2 TensorListFromTensor TensorListGather "
        "TensorListGetItem TensorListPopBack TensorListPushBack TensorListResize "
        "TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2 "
        "TensorListSetItem TensorListSplit TensorListStack"
    ),
    "tensor_array": (
        "TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 "
        "TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3"
    ),
    "control_flow": "Case If StatelessCase StatelessIf StatelessWhile While",
}

# The families of cases modules: cases_<family>*.py.
FAMILIES = tuple(_OPS)
OPS = {family: tuple(names.split()) for family, names in _OPS.items()}
ALL_OPS = tuple(op for ops in OPS.values() for op in ops)

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
    "BlockLSTM": _NO_DERIVATIVE,
    "BlockLSTMV2": _NO_DERIVATIVE,
    "Dilation2D": _NO_DERIVATIVE,
    "RandomGamma": _NO_DERIVATIVE,
    "StatelessRandomGammaV2": _NO_DERIVATIVE,
    "StatelessRandomGammaV3": _NO_DERIVATIVE,
    "CTCLoss": "its gradient is an output of the op, which has no derivative",
    "CTCLossV2": "its gradient is an output of the op, which has no derivative",
    "PreventGradient": "the op is there to refuse",
    **dict.fromkeys(OPS["tensor_array"], "an array of gradients has no gradient array"),
}
