#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tensorflow_ext {

// A part of a dense gradient that is zero in most rows.
struct Term {
  enum Kind {
    // `node` is an UnsortedSegmentSum, the gradient of a gather; or a SparseSegmentSumGrad,
    // -MeanGrad or -SqrtNGrad, which tf.nn.embedding_lookup_sparse leads to.
    kScatter,
    // `node` is a ZerosLike, or a Fill with zero.
    kZeros,
    // `node` calls functions that return such gradients as output `index`.
    kCall,
  };
  Kind kind;
  tensorflow::Node* node;
  int index = 0;
  // The Reshape that gives a scatter the shape of the table, with the same number of rows; null if
  // there is none.
  tensorflow::Node* reshape = nullptr;
  // The ops that change the rows one by one afterwards, the last one first: Cast, Neg, Mul by a
  // constant scalar, and the choice of zeros if there are no rows. `input` is where the rows come
  // in.
  struct Map {
    tensorflow::Node* node;
    int input;
  };
  std::vector<Map> maps;
};

// A dense gradient as a sum of terms.
struct Terms {
  // The first node that prevents this, and so the reason why the gradient is dense. Empty if none
  // does.
  std::string dense;
  std::vector<Term> terms;
  // The nodes after which the gradient must be computed, in addition to its inputs.
  std::vector<tensorflow::Node*> waits;
  // The type of the indices: int32, int64, or DT_INVALID if all terms are zeros.
  tensorflow::DataType index_type = tensorflow::DT_INVALID;
};

// The type for indices of both types.
tensorflow::DataType CommonIndexType(tensorflow::DataType a, tensorflow::DataType b);

// How a message names a node.
std::string Described(const tensorflow::Node& node);

// The tensor that is input `i` of a node.
tensorflow::OutputTensor InputOf(const tensorflow::Node& node, int i);

// Takes the sum apart that makes `gradient`. `find_result` looks into the functions of a call,
// given one of its outputs. It says why that output is dense, if it is, and which type its indices
// have.
absl::StatusOr<Terms> FindTerms(
    const tensorflow::OutputTensor& gradient,
    const std::function<absl::StatusOr<Terms>(const tensorflow::OutputTensor&)>& find_result);

}  // namespace tensorflow_ext
