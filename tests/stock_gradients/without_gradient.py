"""TensorFlow's ops without a gradient that return, or may return, numbers or a variant
or resource that holds some; and the reasons.

Ops that return only integers, texts and truth values are not listed, because their results cannot
be differentiated.
"""

import fnmatch

_REASONS = {
    # ---- The result does not depend continuously on a number, or depends on none.
    "a random draw that depends on no parameter continuously": (
        "KmeansPlusPlusInitialization NonDeterministicInts RandomPoisson RandomPoissonV2 "
        "SampleDistortedBoundingBox* StatefulRandomBinomial StatefulStandardNormal* "
        "StatefulTruncatedNormal StatefulUniform* StatelessSampleDistortedBoundingBox"
    ),
    "the drawn elements are not an output, and another run draws others": (
        "RandomCrop RandomShuffle"
    ),
    "the selected boxes or labels are not an output": (
        "CombinedNonMaxSuppression CTCBeamSearchDecoder GenerateBoundingBoxProposals"
    ),
    "a fixed sequence of numbers": "*CandidateSampler SobolSample",
    "a count, a statistic or a search": "BoostedTrees* ComputeAccidentalHits DebugNumericSummary*",
    "the numbers of a constant, a file or a text": (
        "AudioMicrofrontend DTensorRestoreV2 Decode[CIPW]* Empty HostConst ImmutableConst "
        "LoadAndRemapMatrix ParseExample ParseExampleV2 ParseSequenceExample* ParseSingle*Example "
        "Placeholder PlaceholderV2 Restore RestoreSlice RestoreV2"
    ),
    "the numbers are packed in texts or variants": (
        "DeserializeManySparse DeserializeSparse SerializeManySparse SerializeSparse "
        "TakeManySparseFromTensorsMap"
    ),
    "quantized integers": (
        "Quantized* QuantizeDownAndShrinkRange QuantizeV2 RequantizationRange* Requantize* "
        "UniformQuantized*Hybrid XlaDequantize"
    ),
    # ---- The derivative needs something that TensorFlow does not have.
    "no op splits a batch of lists": "TensorListPushBackBatch",
    "its transpose gathers from all devices, and XLA has no op for that": "XlaReduceScatter",
    "its own kernel fails: it reads an attribute that the op does not have": "XlaIf",
    "XLA does not define the elements beyond a dynamic size": (
        "XlaSetDynamicDimensionSize XlaRemoveDynamicDimensionSize"
    ),
    "TensorFlow's ops express its gradient only for dense matrices": "SparseMatrixSparseCholesky",
    "the derivative needs a kernel that cuDNN does not have": "CudnnRNNBackprop*",
    "its gradient would need its own instance key, which nothing provides": (
        "CollectiveAllToAll* CollectiveBcastSend* CollectiveGather* CollectiveReduce*"
    ),
    # ---- The numbers take a path that no gradient can follow.
    "reads, writes or creates a data set": (
        "*Dataset *DatasetReader *DatasetV? *DatasetToSingleElement *DatasetVariant "
        "Anonymous*Iterator* *MemoryCache CompressElement DatasetFromGraph DummyIterationCounter "
        "GetElementAtIndex Iterator IteratorFromStringHandle* IteratorGetNext* IteratorV2 "
        "MultiDeviceIterator* OneShotIterator SerializeIterator UncompressElement WindowOp"
    ),
    "a queue, a stack, a map or a table that other steps fill": (
        "*HashTable* AccumulatorTakeGradient BarrierTakeMany *Queue*V2 LookupTableExport* MapPeek "
        "MapUnstage* OrderedMapPeek OrderedMapUnstage* ResourceAccumulator* "
        "ResourceConditionalAccumulator SparseAccumulatorTakeGradient StackPopV2 StackPushV2 "
        "StackV2 StagePeek Unstage"
    ),
    "changes a variable": (
        "Apply* Assign AssignAdd AssignSub Scatter[ADMSU]* ScatterNd[AMSU]* Sdca* SparseApply* "
        "StridedSliceAssign"
    ),
    "a variable, part of one, or a handle": (
        "*HandleOp *ResourceHandle *SeedGenerator *StatsAggregatorHandle* *ThreadPoolHandle "
        "CollectiveInitializeCommunicator DestroyTemporaryVariable FakeParam Mutex* OptionalNone "
        "*ReaderV2 RefSelect SummaryWriter TemporaryVariable Variable VariableV2"
    ),
    "the data go to another program": (
        "Collective*Recv* InfeedDequeue* OutfeedDequeue* Recv RpcCall RpcClient RpcGetValue "
        "RpcServer XlaRecv XlaRecvFromHost"
    ),
    "mixes the arguments of independent calls": ("Batch BatchFunction Unbatch UnbatchGrad"),
    "a function in Python, or a program, that TensorFlow cannot look into": (
        "MlirPassthroughOp PyFunc PyFuncStateless XlaCallModule XlaCustomCall* XlaHostCompute"
    ),
    "combines numbers with an arbitrary function, and does not return intermediate results": (
        "XlaReduce XlaReduceWindow XlaScatter XlaSelectAndScatter XlaVariadicReduce*"
    ),
    "positions cannot be sorted along: its comparison takes only operands": "XlaVariadicSort",
    # ---- No client has it in a graph that it differentiates.
    "TensorFlow's runtime or compiler adds it": (
        "_* CustomAggregator DTensorAll* DTensorReduceScatter XlaLaunch XlaLaunchV2"
    ),
    "part of the TPU runtime": (
        "ConvertTo* GetMinibatch* MakeUnique MergeDedupData Prelinearize* ReadVariableXlaSplitND "
        "RecvTPUEmbeddingActivations RetrieveAllTPUEmbeddingParameters RetrieveTPUEmbedding* "
        "SortListOf* SplitDedupData TopKUnique TopKWithUnique TPU* XlaRecvTPUEmbedding* "
        "XlaSparse*"
    ),
    "an experimental op of TensorFlow without kernels": "Risc*",
    "a model of TensorFlow Lite": "TfLiteSubgraphExecute",
    "TensorFlow no longer has a kernel for it": "TensorArrayPack TensorArrayUnpack",
    "an op of TensorFlow's own tests": (
        "A B Binary CheckPinned ComplexStruct CopyOp FiveFloatOutputs FloatOutput* Foo? "
        "IntOutputFloatOutput ListOutput MixedStruct NPolymorphicOut* Namespace>TestStringOutput "
        "OutT OutTypeList Polymorphic* RefOut RefOutputFloatOutput Simple SleepIdentityOp "
        "TestAttr TestStringOutput TwoFloat* Unary"
    ),
}

# Some versions of TensorFlow lack these.
IN_SOME_VERSIONS = {"TfLiteSubgraphExecute"}

# Name patterns, as for files; the first one that matches an op has its reason.
PATTERNS = {pattern: reason for reason, names in _REASONS.items() for pattern in names.split()}


def reason(op: str) -> str | None:
    """The reason why the op has no gradient; None if this table has none."""
    for pattern, why in PATTERNS.items():
        if fnmatch.fnmatchcase(op, pattern):
            return why
    return None
