// Gradients of TensorArray accesses for the function runtime; see tensor_array.cc for what they do.
// A definition sees only its op, so all gradients of an array have one source. Two independent
// gradients in one step would add to the same array; its kernels then report that an element was
// read before. The flow of an upstream gradient comes after the flow of the array, so its elements
// exist. TensorArray before version 2 has handles that are references, which functions do not
// accept.

#include <string>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The array of the elements' gradients, and a flow after its creation.
struct GradientArray {
  std::string version;  // V2 or V3
  Value handle, flow;
};

GradientArray MakeGradientArray(Gradient& g, Value flow) {
  const std::string version = g.op().substr(g.op().size() - 2);
  const Value handle =
      g.Call("TensorArrayGrad" + version, {g.Input(0), flow}, {{"source", "gradients"}});
  return {version, handle, g.After(flow, handle)};
}

// handle, index, flow -> value: adds to the element.
void ReadGrad(Gradient& g) {
  const GradientArray array = MakeGradientArray(g, g.Input(2));
  g.Return({Value(), Value(),
            g.Call("TensorArrayWrite" + array.version,
                   {array.handle, g.Input(1), g.Upstream(), array.flow})});
}

// handle, index, value, flow -> flow: reads the sum.
void WriteGrad(Gradient& g) {
  const GradientArray array = MakeGradientArray(g, g.Upstream());
  g.Return({Value(), Value(),
            g.Call("TensorArrayRead" + array.version, {array.handle, g.Input(1), array.flow},
                   {{"dtype", g.Input(2).type()}}),
            g.Upstream()});
}

// handle, indices, flow -> value.
void ArrayGatherGrad(Gradient& g) {
  const GradientArray array = MakeGradientArray(g, g.Input(2));
  g.Return({Value(), Value(),
            g.Call("TensorArrayScatter" + array.version,
                   {array.handle, g.Input(1), g.Upstream(), array.flow})});
}

// handle, indices, value, flow -> flow.
void ArrayScatterGrad(Gradient& g) {
  const GradientArray array = MakeGradientArray(g, g.Upstream());
  g.Return({Value(), Value(),
            g.Call("TensorArrayGather" + array.version, {array.handle, g.Input(1), array.flow},
                   {{"dtype", g.Input(2).type()}}),
            g.Upstream()});
}

// handle, flow -> value, lengths.
void ArrayConcatGrad(Gradient& g) {
  const GradientArray array = MakeGradientArray(g, g.Input(1));
  g.Return({Value(), g.Call("TensorArraySplit" + array.version,
                            {array.handle, g.Upstream(), g.Output(1), array.flow})});
}

// handle, value, lengths, flow -> flow.
void ArraySplitGrad(Gradient& g) {
  const GradientArray array = MakeGradientArray(g, g.Upstream());
  g.Return({Value(),
            g.Call("TensorArrayConcat" + array.version, {array.handle, array.flow},
                   {{"dtype", g.Input(1).type()}}),
            Value(), g.Upstream()});
}

#define REGISTER_VERSIONS(op, formula)                  \
  REGISTER_FUNCTION_RUNTIME_GRADIENT(op "V2", formula); \
  REGISTER_FUNCTION_RUNTIME_GRADIENT(op "V3", formula)
REGISTER_VERSIONS("TensorArrayConcat", ArrayConcatGrad);
REGISTER_VERSIONS("TensorArrayGather", ArrayGatherGrad);
REGISTER_VERSIONS("TensorArrayRead", ReadGrad);
REGISTER_VERSIONS("TensorArrayScatter", ArrayScatterGrad);
REGISTER_VERSIONS("TensorArraySplit", ArraySplitGrad);
REGISTER_VERSIONS("TensorArrayWrite", WriteGrad);
#undef REGISTER_VERSIONS

}  // namespace
}  // namespace tensorflow_ext
