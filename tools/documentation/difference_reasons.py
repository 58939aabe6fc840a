# SPDX-License-Identifier: Apache-2.0
"""The reasons why gradients differ: the ops, by the party that is wrong and by reason."""

REASONS = {
    "python": {
        "works with control flow of TensorFlow 1 only": (
            "TensorArrayConcat TensorArrayConcatV2 TensorArrayConcatV3 TensorArrayGather "
            "TensorArrayGatherV2 TensorArrayGatherV3 TensorArrayRead TensorArrayReadV2 "
            "TensorArrayReadV3 TensorArrayScatter TensorArrayScatterV2 TensorArrayScatterV3 "
            "TensorArraySplit TensorArraySplitV2 TensorArraySplitV3 TensorArrayWrite "
            "TensorArrayWriteV2 TensorArrayWriteV3"
        ),
        "counts as a constant": (
            "CTCGreedyDecoder DrawBoundingBoxes ExtractGlimpse HSVToRGB LinSpace "
            "RaggedRange Range SparseConcat TensorListConcatLists"
        ),
        "the gradient op counts as a constant": (
            "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars "
            "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
            "FakeQuantWithMinMaxVarsPerChannelGradient ResizeBilinear ResizeBilinearGrad "
            "SparseAdd"
        ),
        "complex operands are not conjugated": (
            "MulNoNan SegmentProd TridiagonalSolve UnsortedSegmentProd Xdivy Xlog1py Xlogy"
        ),
        "fails for int64 axes where it does not know the shape": "ConcatV2 Max Mean Min Prod Sum",
        "divides by the count of an empty segment": (
            "SegmentMax SegmentMean SegmentMin UnsortedSegmentMax UnsortedSegmentMin"
        ),
        "drops bad_indices_policy": (
            "ScatterNd ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterSub "
            "TensorScatterUpdate"
        ),
        "none by the value that pads": (
            "MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 PadV2"
        ),
        "an fft_length of 1, or that crops": "IRFFT IRFFT2D RFFT RFFT2D",
        "needs static inner shapes": "IsotonicRegression Qr SparseMatrixMatMul Svd",
        "takes the mean inside the variance for a constant": (
            "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3"
        ),
        "zeros where the maxima are as many as the pixels": "MaxPool MaxPool3D MaxPoolV2",
        "MatrixSetDiag refuses bands of matrices of unknown size": (
            "MatrixDiagPartV2 MatrixDiagPartV3"
        ),
        "counts rows for values": "RaggedTensorFromVariant RaggedTensorToVariant",
        "no variants in a matrix": "RaggedTensorFromVariant RaggedTensorToVariant",
        "repeated indices": "TensorListScatter TensorListScatterV2",
        "repeated indices: gives every row the gradient, the last one is there": ("DynamicStitch"),
        "takes bands as V3 aligns them by default": "MatrixDiagV2 MatrixSetDiagV2",
        "transposes where the adjoint is needed": "MatrixSolveLs MatrixSquareRoot",
        "wants a gradient of every component": "OptionalFromValue OptionalGetValue",
        "where an operand is empty: memory that nothing was written to": (
            "Conv3D DepthwiseConv2dNative"
        ),
        "0 at the zeros; complex operands are not conjugated": "Cumprod",
        "NaN at 0 to the 0": "Pow",
        "a condition that is no boolean": "StatelessIf",
        "a variable that changes its shape": "StatelessWhile",
        "adds int32 to the indices": "TopKV2",
        "also returns a gradient by an input k, which TopK has not": "TopK",
        "at 0 it is 1/2; Python says 1": "BesselI1",
        "by mean and stddev, near bounds": "StatelessParameterizedTruncatedNormal",
        "by way of BesselI1' at 0": "BesselI0",
        "complex: not conjugated; singular: inverts the matrix": "MatrixDeterminant",
        "divides by 1 - x = 0": "Spence",
        "divides by a norm of 0": "EuclideanNorm",
        "divides by x = 0": "BesselJ1",
        "exclusive: log of an empty sum": "CumulativeLogsumexp",
        "fails for negative axes": "ConjugateTranspose",
        "ignores batch_dims": "ResourceGather",
        "ignores the gradients of the gates": "BlockLSTM",
        "in the second output": "SoftmaxCrossEntropyWithLogits",
        "its second order knows no explicit padding": "MaxPool",
        "labels that broadcast": "SoftmaxCrossEntropyWithLogits",
        "lacks elements of the operand's pattern": "SparseMatrixSparseMatMul",
        "leaves out the sign of complex matrices": "LogMatrixDeterminant",
        "leaves the erased key in the gradient": "TensorMapErase",
        "lists of other shapes": "TensorListStack",
        "needs static shapes with a negative batch_dims": "GatherV2",
        "no gradient of the factors": "SparseMatrixAdd",
        "no kernel of its gradient op for int32": "MaxPoolWithArgmax",
        "none by a and b": "Betainc",
        "none by scale and translation": "ScaleAndTranslate",
        "none by transforms": "ImageProjectiveTransformV2",
        "none by transforms and fill_value": "ImageProjectiveTransformV3",
        "none by x": "Zeta",
        "none of half images": "ResizeBicubic",
        "none with fast=False": "MatrixSolveLs",
        "not conjugated": "SparseMatrixAdd",
        "not conjugated, not summed over broadcast axes": "XlaEinsum",
        "reads the gates in V1's order, ignores their gradients": "BlockLSTMV2",
        "repeated indices, a list that grows": "TensorListScatterIntoExistingList",
        "repeated indices, other shapes": "TensorListGather",
        "scalar values or indices, repeated indices": "SparseToDense",
        "second order: that of Cumprod": "Prod",
        "sums over the wrong axes of a broadcast default": "RaggedTensorToTensor",
        "takes all of a complex upstream gradient": "SquaredDifference",
        "the gradient of ScatterNd drops bad_indices_policy": "GatherNd",
        "works on nodes of its debugger only": "DebugGradientIdentity",
    },
    "client": {
        "int64 axes or indices": "BroadcastTo Max Min Pad PadV2 Prod Slice StridedSlice Sum",
        "complex operands are not conjugated": "Acos Atan PartitionedCall Prod SquaredDifference",
        "Real, Imag, Complex without their result's type": "Angle Complex Imag Real",
        "drops bad_indices_policy": "GatherNd ScatterNd ScatterNdNonAliasingAdd",
        "drops explicit_paddings": "MaxPool",
        "NaN at 0": "Pow",
        "an int32 where a floating input is due": "QuantizeAndDequantizeV4",
        "drops all attributes": "LRN",
        "drops explicit_paddings and dilations": "Conv2D",
        "fails by the boxes of images of whole numbers": "CropAndResize",
        "fails for half images": "ResizeBicubic",
        "fails for ids of int16": "UnsortedSegmentSum",
        "fails for images other than float": "ScaleAndTranslate",
        "float only": "SoftmaxCrossEntropyWithLogits",
        "int64 axes; the process ends by a segmentation fault": "Mean",
        "int64 axis; the process ends by a segmentation fault": "ConcatV2",
        "negative or int64 axis": "GatherV2",
        "none by the scale": "ScaleAndTranslate",
        "none by the value that pads": "PadV2",
        "not summed over broadcast axes": "Atan2",
        "ops without a function gradient": "PartitionedCall",
        "repeated indices: gives every row the gradient": "DynamicStitch",
        "right for matrices only": "LogSoftmax",
        "takes the gradient of a resource for float": "StatefulPartitionedCall",
    },
    "function": {
        "complex operands are not conjugated": (
            "Acos Asin Atan Atanh Cos Cosh Div DivNoNan Exp Expm1 Inv Log Log1p Pow RealDiv "
            "Reciprocal Rsqrt Sigmoid Sin Sinh Sqrt Square SquaredDifference Tan Tanh Xdivy "
            "Xlog1py Xlogy"
        ),
        "int32 axes or indices only": (
            "BroadcastTo ConjugateTranspose ExpandDims Fill GatherNd Max Min Reshape "
            "ReverseV2 Slice StridedSlice StridedSliceGrad Transpose"
        ),
        "Real, Imag, Complex of one type with their operand": "Angle Complex Imag Real",
        "no complex operands": "BatchMatMul BatchMatMulV2 MatMul",
        "int32 axes or indices only, none negative": "Mean Sum",
        "multiplies where it must divide": "Acosh Asinh",
        "no empty tensors": "Mean Sum",
        "no keep_dims": "Max Min",
        "not conjugated": "Acosh Asinh",
        "by those of the ops in the function": "PartitionedCall",
        "drops bad_indices_policy": "GatherNd",
        "drops explicit_paddings": "MaxPool",
        "drops explicit_paddings and dilations": "Conv2D",
        "takes 2 arguments where the op asks for 4": "MaxPoolGrad",
        "takes a size of -1 for a number": "Slice",
    },
}
