"""Replaces TensorFlow's Python gradients by gradients of this library."""

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry, ops

from tensorflow_ext._runtime import _eager_op, _library, _python_registry, _registration

# The ops whose gradient in TensorFlow's Python is wrong, fails or is missing in at least
# one supported version, while this library's is right. docs/known_differences.md has the
# details.
_FIXED = (
    "Atan2 BesselI0 BesselI1 BesselJ1 Betainc BlockLSTM BlockLSTMV2 "
    "CSRSparseMatrixToDense CTCGreedyDecoder ConcatV2 ConjugateTranspose Conv3D "
    "Conv3DBackpropFilterV2 Conv3DBackpropInputV2 Cumprod CumulativeLogsumexp Dawsn "
    "DebugGradientIdentity DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter "
    "DepthwiseConv2dNativeBackpropInput DrawBoundingBoxes DynamicStitch Eig "
    "EuclideanNorm ExtractGlimpse ExtractImagePatches FakeQuantWithMinMaxArgs "
    "FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars "
    "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
    "FakeQuantWithMinMaxVarsPerChannelGradient FusedBatchNormGrad FusedBatchNormGradV2 "
    "FusedBatchNormGradV3 GatherNd HSVToRGB IRFFT IRFFT2D Igamma Igammac "
    "ImageProjectiveTransformV2 ImageProjectiveTransformV3 IsotonicRegression LinSpace "
    "LogMatrixDeterminant MatrixDeterminant MatrixDiagPartV2 MatrixDiagPartV3 "
    "MatrixDiagV2 MatrixDiagV3 MatrixSetDiagV2 MatrixSolveLs MatrixSquareRoot Max "
    "MaxPool MaxPool3DGrad MaxPoolGrad MaxPoolGradV2 MaxPoolWithArgmax Mean Min "
    "MulNoNan OptionalFromValue OptionalGetValue PadV2 ParameterizedTruncatedNormal Pow "
    "Prod Qr QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad RFFT RFFT2D "
    "RaggedRange RaggedTensorFromVariant RaggedTensorToTensor RaggedTensorToVariant "
    "Range ResizeBicubic ResizeBilinear ResizeBilinearGrad ResourceGather "
    "ScaleAndTranslate ScatterNd ScatterNdNonAliasingAdd SegmentMax SegmentMean "
    "SegmentMin SegmentProd SelfAdjointEigV2 SoftmaxCrossEntropyWithLogits SparseAdd "
    "SparseAddGrad SparseConcat SparseDenseCwiseAdd SparseMatrixAdd SparseMatrixMatMul "
    "SparseMatrixMul SparseMatrixSparseMatMul SparseSegmentMean "
    "SparseSegmentMeanWithNumSegments SparseSegmentSqrtN "
    "SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumWithNumSegments "
    "SparseSoftmax SparseSparseMaximum SparseSparseMinimum SparseToDense Spence "
    "SquaredDifference StatelessParameterizedTruncatedNormal StridedSlice Sum Svd "
    "TensorListConcatLists TensorListGather TensorListScatter "
    "TensorListScatterIntoExistingList TensorListScatterV2 TensorListStack "
    "TensorMapErase TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub "
    "TensorScatterUpdate TopK TopKV2 TridiagonalSolve UnsortedSegmentMax "
    "UnsortedSegmentMin UnsortedSegmentProd Xdivy XlaEinsum Xlog1py Xlogy Zeta"
)
FIXED = tuple(_FIXED.split())

_lock = threading.Lock()
# TensorFlow's entries in Python's registry for the fixed ops, by op.
_originals: dict[str, dict[str, Any]] = {}


def fix(names: Iterable[str] | None) -> list[str]:
    """See tensorflow_ext.gradients.fix."""
    wanted = FIXED if names is None else _checked(names)
    entries = ops.gradient_registry._registry
    with _lock:
        changed = []
        for op in wanted:
            if op in _originals or op not in entries:
                continue
            if _python_registry.is_own(op):
                continue
            if names is None and not _python_registry.is_tensorflows(op):
                continue
            _originals[op] = entries[op]
            gradient = _make_gradient(op, entries[op]["type"])
            entries[op] = {**entries[op], "type": gradient}
            changed.append(op)
        return sorted(changed)


def restore(names: Iterable[str] | None) -> list[str]:
    """See tensorflow_ext.gradients.restore."""
    entries = ops.gradient_registry._registry
    with _lock:
        chosen = set(_originals if names is None else _checked(names))
        changed = sorted(chosen & _originals.keys())
        for op in changed:
            entries[op] = _originals.pop(op)
        return changed


def put_asked_for_in_place() -> None:
    """Gives Python the gradients that libraries registered with
    TFEXT_GRADIENT_INSTEAD, which replace any gradient that Python has for the op, except one that
    the user registered in place of it.

    They are created anew each time, because another library may have registered one.
    """
    with _lock:
        for op in _library.list_ops():
            asked_for = _library.Registries.GRADIENT_ASKED_FOR in _library.registries(op)
            if asked_for and _python_registry.may_replace(op):
                _python_registry.replace(op, _make_gradient(op, None))


@dataclasses.dataclass
class _Kept:
    """An op as a tape recorded it, with missing tensors filled in."""

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    attrs: tuple[Any, ...]
    skip_input_indices: Sequence[int] | None


class _NotKept(Exception):
    """A tape has not kept this input, which the gradient needs."""

    def __init__(self, op_type: str, index: int) -> None:
        restore = ""
        if op_type in _originals:
            restore = f", or call tensorflow_ext.gradients.restore([{op_type!r}])"
        super().__init__(
            f"In the gradient of {op_type}: the tape has not kept input {index}, because "
            "TensorFlow's own gradient does not need it, but the gradient in its place does; "
            "put the op into a tf.function and the tape around its call, or use "
            f"tf.gradients{restore}"
        )


def _make_gradient(op_type: str, original: Callable[..., Any] | None) -> Callable[..., Any]:
    """Makes the gradient for Python's registry.

    A tape keeps only the inputs and outputs that TensorFlow's own gradient of the op
    needs, with None for the others, or drops the lists. This gradient computes missing
    outputs again. If an input is missing, it falls back to TensorFlow's gradient.
    """
    replay = _registration.make_gradient(op_type)
    # The tensors that the definition uses: iK, oK and gK for input, output and upstream K.
    used_by_attrs: dict[Any, frozenset[str]] = {}

    def used(op: Any) -> frozenset[str]:
        key = op.attrs, op.skip_input_indices
        if not _registration.is_hashable(key):
            return frozenset(_registration.plan_of(op, op_type).used)
        found = used_by_attrs.get(key)
        if found is None:  # Another thread may empty the table at any time.
            found = frozenset(_registration.plan_of(op, op_type).used)
            _registration.insert(used_by_attrs, key, found)
        return found

    def gradient(op: Any, *upstream: Any) -> Any:
        operation = _operation(op, op_type)
        if operation is not None:
            return replay(operation, *upstream)
        kept = [*(op.inputs or [None]), *(op.outputs or [None])]
        if any(value is None for value in kept):
            try:
                op = _completed(op_type, op, upstream, used(op))
            except _NotKept as error:
                if original is None:
                    message = str(error)
                    raise tf.errors.UnimplementedError(None, None, message) from None
                return original(op, *upstream)
        return replay(op, *upstream)

    return gradient


def _operation(op: Any, op_type: str) -> tf.Operation | None:
    """The op's node in a graph, which has all inputs and outputs, or None."""
    if isinstance(op, tf.Operation):
        return op
    for output in op.outputs or ():
        if isinstance(output, tf.Tensor) and not isinstance(output, ops.EagerTensor):
            # In forward mode, the outputs are arguments of a function.
            return output.op if output.op.type == op_type else None
    return None


def _completed(op_type: str, op: Any, upstream: Sequence[Any], used: frozenset[str]) -> _Kept:
    """The op with the outputs that its gradient needs, and its inputs checked."""
    inputs, outputs = op.inputs or (), op.outputs or ()
    takes_outputs = any(name[0] == "o" for name in used) or any(
        gradient is None and f"g{i}" in used for i, gradient in enumerate(upstream)
    )
    run_again = takes_outputs and (not outputs or any(value is None for value in outputs))
    needed = {int(name[1:]) for name in used if name[0] == "i"}
    if run_again:
        needed = set(range(max(1, len(inputs))))
    for i in sorted(needed):
        if i >= len(inputs) or inputs[i] is None:
            raise _NotKept(op_type, i)
    if run_again:
        # The tapes around this gradient record this op.
        outputs = _eager_op.run(op_type, op.inputs, op.attrs or (), len(upstream))
    return _Kept(inputs, outputs, op.attrs, op.skip_input_indices)


def _checked(names: Iterable[str]) -> list[str]:
    """The ops, after a check that Python can replay a definition of each."""
    if isinstance(names, str):
        raise TypeError(
            f"ops: expected a list of op types, got the string {names!r}; write [{names!r}]"
        )
    bits = _library.Registries
    checked = []
    for name in names:
        if op_def_registry.get(name) is None:
            raise ValueError(f"ops: there is no op {name!r}; expected op types, such as 'Cumprod'")
        found = _library.registries(name)
        if bits.FUNCTION_OWN not in found or bits.FUNCTION_RUNTIME_ALONE in found:
            raise ValueError(
                f"ops: this library has no gradient of {name!r} for Python; "
                "tensorflow_ext.gradients.fix() without arguments fixes all wrong "
                "gradients"
            )
        checked.append(name)
    return checked
