"""The reasons why gradients differ: the ops, by the party that is wrong and by reason."""

REASONS = {
    "python": {
        "works only with TensorFlow 1 control flow": (
            "TensorArrayConcat TensorArrayConcatV2 TensorArrayConcatV3 TensorArrayGather "
            "TensorArrayGatherV2 TensorArrayGatherV3 TensorArrayRead TensorArrayReadV2 "
            "TensorArrayReadV3 TensorArrayScatter TensorArrayScatterV2 TensorArrayScatterV3 "
            "TensorArraySplit TensorArraySplitV2 TensorArraySplitV3 TensorArrayWrite "
            "TensorArrayWriteV2 TensorArrayWriteV3"
        ),
        "treated as a constant": (
            "CTCGreedyDecoder DrawBoundingBoxes ExtractGlimpse HSVToRGB LinSpace "
            "RaggedRange Range SparseConcat TensorListConcatLists"
        ),
        "the gradient op is treated as a constant": (
            "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars "
            "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
            "FakeQuantWithMinMaxVarsPerChannelGradient ResizeBilinear ResizeBilinearGrad "
            "SparseAdd"
        ),
        "complex operands are not conjugated": (
            "MulNoNan SegmentProd TridiagonalSolve UnsortedSegmentProd Xdivy Xlog1py Xlogy"
        ),
        "fails for int64 axes if the shape is unknown": "ConcatV2 Max Mean Min Prod Sum",
        "divides by the count of an empty segment": (
            "SegmentMax SegmentMean SegmentMin UnsortedSegmentMax UnsortedSegmentMin"
        ),
        "drops bad_indices_policy": (
            "ScatterNd ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterSub "
            "TensorScatterUpdate"
        ),
        "none for the padding value": (
            "MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 PadV2"
        ),
        "fft_length is 1, or crops the input": "IRFFT IRFFT2D RFFT RFFT2D",
        "needs static inner shapes": "IsotonicRegression Qr SparseMatrixMatMul Svd",
        "treats the mean inside the variance as a constant": (
            "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3"
        ),
        "zeros if there are as many maxima as pixels": "MaxPool MaxPool3D MaxPoolV2",
        "MatrixSetDiag refuses bands of matrices of unknown size": (
            "MatrixDiagPartV2 MatrixDiagPartV3"
        ),
        "confuses rows with values": "RaggedTensorFromVariant RaggedTensorToVariant",
        "no matrices of variants": "RaggedTensorFromVariant RaggedTensorToVariant",
        "repeated indices": "TensorListScatter TensorListScatterV2",
        "repeated indices: every row gets the gradient, but only the last one is in the result": (
            "DynamicStitch"
        ),
        "assumes the default band alignment of V3": "MatrixDiagV2 MatrixSetDiagV2",
        "transposes where the adjoint is needed": "MatrixSolveLs MatrixSquareRoot",
        "needs a gradient for every component": "OptionalFromValue OptionalGetValue",
        "an empty operand: uninitialized memory": ("Conv3D DepthwiseConv2dNative"),
        "0 at the zeros; complex operands are not conjugated": "Cumprod",
        "NaN for 0 to the power of 0": "Pow",
        "a condition that is not a boolean": "StatelessIf",
        "a variable that changes its shape": "StatelessWhile",
        "adds int32 to the indices": "TopKV2",
        "also returns a gradient for an input k, which TopK does not have": "TopK",
        "it is 1/2 at 0, but Python returns 1": "BesselI1",
        "for mean and stddev, near the bounds": "StatelessParameterizedTruncatedNormal",
        "because of BesselI1' at 0": "BesselI0",
        "complex: not conjugated; singular: inverts the matrix": "MatrixDeterminant",
        "divides by 1 - x = 0": "Spence",
        "divides by a norm of 0": "EuclideanNorm",
        "divides by x = 0": "BesselJ1",
        "exclusive: log of an empty sum": "CumulativeLogsumexp",
        "fails for negative axes": "ConjugateTranspose",
        "ignores batch_dims": "ResourceGather",
        "ignores the gradients of the gates": "BlockLSTM",
        "in the second output": "SoftmaxCrossEntropyWithLogits",
        "the second order ignores explicit padding": "MaxPool",
        "broadcast labels": "SoftmaxCrossEntropyWithLogits",
        "misses elements of the operand's sparsity pattern": "SparseMatrixSparseMatMul",
        "ignores the sign of complex matrices": "LogMatrixDeterminant",
        "the gradient still has the erased key": "TensorMapErase",
        "lists of other shapes": "TensorListStack",
        "needs static shapes with a negative batch_dims": "GatherV2",
        "none for the factors": "SparseMatrixAdd",
        "its gradient op has no kernel for int32": "MaxPoolWithArgmax",
        "none for a and b": "Betainc",
        "none for scale and translation": "ScaleAndTranslate",
        "none for transforms": "ImageProjectiveTransformV2",
        "none for transforms and fill_value": "ImageProjectiveTransformV3",
        "none for x": "Zeta",
        "none for half images": "ResizeBicubic",
        "none with fast=False": "MatrixSolveLs",
        "not conjugated": "SparseMatrixAdd",
        "not conjugated, not summed over broadcast axes": "XlaEinsum",
        "reads the gates in V1's order, ignores their gradients": "BlockLSTMV2",
        "repeated indices, a list that grows": "TensorListScatterIntoExistingList",
        "repeated indices, other shapes": "TensorListGather",
        "scalar values or indices, repeated indices": "SparseToDense",
        "second order: the gradient of Cumprod is wrong": "Prod",
        "sums over the wrong axes of a broadcast default": "RaggedTensorToTensor",
        "uses the whole complex upstream gradient": "SquaredDifference",
        "the gradient of ScatterNd drops bad_indices_policy": "GatherNd",
        "works only on nodes of TensorFlow's debugger": "DebugGradientIdentity",
    },
    "client": {
        "int64 axes or indices": "BroadcastTo Max Min Pad PadV2 Prod Slice StridedSlice Sum",
        "complex operands are not conjugated": "Acos Atan PartitionedCall Prod SquaredDifference",
        "Real, Imag and Complex lack their result type": "Angle Complex Imag Real",
        "drops bad_indices_policy": "GatherNd ScatterNd ScatterNdNonAliasingAdd",
        "drops explicit_paddings": "MaxPool",
        "NaN at 0": "Pow",
        "an int32 instead of a floating input": "QuantizeAndDequantizeV4",
        "drops all attributes": "LRN",
        "drops explicit_paddings and dilations": "Conv2D",
        "fails for the boxes if the images are integers": "CropAndResize",
        "fails for half images": "ResizeBicubic",
        "fails for ids of int16": "UnsortedSegmentSum",
        "fails for images other than float": "ScaleAndTranslate",
        "only float": "SoftmaxCrossEntropyWithLogits",
        "int64 axes: the process crashes with a segmentation fault": "Mean",
        "int64 axis: the process crashes with a segmentation fault": "ConcatV2",
        "negative or int64 axis": "GatherV2",
        "none for the scale": "ScaleAndTranslate",
        "none for the padding value": "PadV2",
        "not summed over broadcast axes": "Atan2",
        "ops without a function gradient": "PartitionedCall",
        "repeated indices: every row gets the gradient": "DynamicStitch",
        "only correct for matrices": "LogSoftmax",
        "assumes that the gradient of a resource is float": "StatefulPartitionedCall",
    },
    "function": {
        "complex operands are not conjugated": (
            "Acos Asin Atan Atanh Cos Cosh Div DivNoNan Exp Expm1 Inv Log Log1p Pow RealDiv "
            "Reciprocal Rsqrt Sigmoid Sin Sinh Sqrt Square SquaredDifference Tan Tanh Xdivy "
            "Xlog1py Xlogy"
        ),
        "only int32 axes or indices": (
            "BroadcastTo ConjugateTranspose ExpandDims Fill GatherNd Max Min Reshape "
            "ReverseV2 Slice StridedSlice StridedSliceGrad Transpose"
        ),
        "gives Real, Imag and Complex the type of their operand": "Angle Complex Imag Real",
        "no complex operands": "BatchMatMul BatchMatMulV2 MatMul",
        "only int32 axes or indices, none negative": "Mean Sum",
        "multiplies where it must divide": "Acosh Asinh",
        "no empty tensors": "Mean Sum",
        "no keep_dims": "Max Min",
        "not conjugated": "Acosh Asinh",
        "because of the ops in the function": "PartitionedCall",
        "drops bad_indices_policy": "GatherNd",
        "drops explicit_paddings": "MaxPool",
        "drops explicit_paddings and dilations": "Conv2D",
        "takes 2 arguments, but the op has 4": "MaxPoolGrad",
        "does not treat a size of -1 as 'the rest'": "Slice",
    },
}
