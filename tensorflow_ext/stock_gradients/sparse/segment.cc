// Reductions of gathered rows over segments, and the gradients of their gradients. The attribute
// sparse_gradient, which requests IndexedSlices in Python, has no effect: a client's gradients are
// tensors.

#include <string>

#include "absl/strings/strip.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/sparse/sparse.h"

namespace tensorflow_ext {
namespace {

// "SparseSegmentMean" from SparseSegmentMeanWithNumSegments, ...MeanGrad, ...
std::string Reduction(Gradient& g, const char* suffix) {
  return std::string(absl::StripSuffix(g.op(), suffix));
}

void SparseSegmentReductionGrad(Gradient& g) {
  const Value data = g.Input(0), indices = g.Input(1), ids = g.Input(2);
  if (!IsInexact(data)) return ReturnNone(g);
  const Value d_data = Call(Reduction(g, "WithNumSegments") + "Grad",
                            {g.Upstream(), indices, ids, Element(Shape(data), 0)});
  // Without indices the op does not write its result.
  g.ReturnFirst(Where(Equal(Size(indices), 0), 0, d_data));
}
REGISTER_GRADIENT("SparseSegmentSum", SparseSegmentReductionGrad);
REGISTER_GRADIENT("SparseSegmentSumWithNumSegments", SparseSegmentReductionGrad);
REGISTER_GRADIENT("SparseSegmentMean", SparseSegmentReductionGrad);
REGISTER_GRADIENT("SparseSegmentMeanWithNumSegments", SparseSegmentReductionGrad);
REGISTER_GRADIENT("SparseSegmentSqrtN", SparseSegmentReductionGrad);
REGISTER_GRADIENT("SparseSegmentSqrtNWithNumSegments", SparseSegmentReductionGrad);

// The op is the transpose of the reduction; its gradient is the reduction.
void SparseSegmentReductionGradGrad(Gradient& g) {
  const Value dy = g.Input(0), indices = g.Input(1), ids = g.Input(2);
  const Value reduced = Call(Reduction(g, "Grad") + "WithNumSegments",
                             {g.Upstream(), indices, ids, Element(Shape(dy), 0)});
  g.Return({reduced, Value(), Value(), Value()});
}
REGISTER_GRADIENT("SparseSegmentSumGrad", SparseSegmentReductionGradGrad);
REGISTER_GRADIENT("SparseSegmentMeanGrad", SparseSegmentReductionGradGrad);
REGISTER_GRADIENT("SparseSegmentSqrtNGrad", SparseSegmentReductionGradGrad);

// The same for only the rows that are not zeros, in the order of their numbers, which are the
// second output.
void SparseSegmentReductionGradV2Grad(Gradient& g) {
  const Value dy = g.Input(0), indices = g.Input(1), ids = g.Input(2);
  const Value row = g.Int(0), numbers = g.Output(1);
  const Value places = Call("LowerBound", {ExpandDims(numbers, row), ExpandDims(indices, row)});
  g.ReturnFirst(Call(Reduction(g, "GradV2") + "WithNumSegments",
                     {g.Upstream(0), ReshapeLike(places, indices), ids, Element(Shape(dy), 0)}));
}
REGISTER_GRADIENT("SparseSegmentSumGradV2", SparseSegmentReductionGradV2Grad);
REGISTER_GRADIENT("SparseSegmentMeanGradV2", SparseSegmentReductionGradV2Grad);
REGISTER_GRADIENT("SparseSegmentSqrtNGradV2", SparseSegmentReductionGradV2Grad);

}  // namespace
}  // namespace tensorflow_ext
