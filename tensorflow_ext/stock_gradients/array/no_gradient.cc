// Ops that pass no gradient on: their results are integers, strings, handles, or numbers that do
// not depend on the inputs. Python marks them with ops.NotDifferentiable; a client fails on an op
// that it does not know.

#include "tensorflow_ext/gradient/bridge/client_registry.h"

namespace tensorflow_ext {
namespace {

constexpr const char* kOps[] = {
    // Integers and bits.
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Invert",
    "LeftShift",
    "NonMaxSuppressionWithOverlaps",
    "PopulationCount",
    "RightShift",
    "SetSize",
    "SparseMatrixNNZ",
    "VarIsInitializedOp",
    "VariableShape",
    // Random numbers of a fixed distribution, and discrete ones.
    "Multinomial",
    "NonDeterministicInts",
    "RandomIndexShuffle",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "RngReadAndSkip",
    "StatefulRandomBinomial",
    "StatefulStandardNormal",
    "StatefulStandardNormalV2",
    "StatefulTruncatedNormal",
    "StatefulUniform",
    "StatefulUniformFullInt",
    "StatefulUniformInt",
    "StatelessMultinomial",
    "StatelessRandomBinomial",
    "StatelessRandomNormal",
    "StatelessRandomNormalV2",
    "StatelessRandomPoisson",
    "StatelessRandomUniform",
    "StatelessRandomUniformFullInt",
    "StatelessRandomUniformFullIntV2",
    "StatelessRandomUniformInt",
    "StatelessRandomUniformIntV2",
    "StatelessRandomUniformV2",
    "StatelessTruncatedNormal",
    "StatelessTruncatedNormalV2",
    "TruncatedNormal",
    // Strings, and numbers parsed from them.
    "AsString",
    "DecodePaddedRaw",
    "DecodeRaw",
    "ParseTensor",
    "SerializeTensor",
    "StringToHashBucket",
    "StringToHashBucketFast",
    "StringToHashBucketStrong",
    "StringToNumber",
    // Tables.
    "LookupTableFind",
    "LookupTableFindV2",
    "LookupTableSize",
    "LookupTableSizeV2",
    // Handles, shapes, conditions.
    "LoopCond",
    "SparseMatrixZeros",
    "TensorArray",
    "TensorArrayGrad",
    "TensorArrayGradV2",
    "TensorArrayGradV3",
    "TensorArrayGradWithShape",
    "TensorArraySize",
    "TensorArraySizeV2",
    "TensorArraySizeV3",
    "TensorArrayV2",
    "TensorArrayV3",
    "Timestamp",
};

[[maybe_unused]] const bool registered_ops_without_gradient = [] {
  for (const char* op : kOps) RegisterClientGradient(op, nullptr);
  return true;
}();

}  // namespace
}  // namespace tensorflow_ext
