// Ops that choose the best match and return its score.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The negated sum over a sequence's steps of the best class's logit. inputs is [time, batch,
// class], output 3 is [batch, 1].
void CtcGreedyDecoderGrad(Gradient& g) {
  const Value inputs = g.Input(0), lengths = g.Input(1);
  const Value shape = Shape(inputs);
  const Value one = g.Scalar(1, inputs.type());
  const Value zero = g.Scalar(0, inputs.type());
  const Value best =
      Call("OneHot", {Call("ArgMax", {inputs, g.Int(2)}), Element(shape, 2), one, zero});
  const Value steps = ExpandDims(Range(g.Int(0), Element(shape, 0), g.Int(1)), g.Int(1));
  const Value is_step = Less(steps, ExpandDims(lengths, g.Int(0)));
  const Value dy = Reshape(-g.Upstream(3), g.Ints({1, -1}));
  g.ReturnFirst(best * ExpandDims(Where(is_step, dy, 0), g.Int(2)));
}
REGISTER_GRADIENT("CTCGreedyDecoder", CtcGreedyDecoderGrad);

// The squared distances |p - c|^2 from each point to its nearest centers.
void NearestNeighborsGrad(Gradient& g) {
  const Value points = g.Input(0), centers = g.Input(1), indices = g.Output(0);
  const Value offsets = ExpandDims(points, g.Int(1)) - Gather(centers, indices);
  const Value by_offset = ExpandDims(2 * g.Upstream(1), g.Int(2)) * offsets;
  g.Return({Sum(by_offset, g.Int(1)),
            -Call("UnsortedSegmentSum", {by_offset, indices, Element(Shape(centers), 0)}),
            Value()});
}
REGISTER_GRADIENT("NearestNeighbors", NearestNeighborsGrad);

}  // namespace
}  // namespace tensorflow_ext
