// SPDX-License-Identifier: Apache-2.0
//
// FunctionDefHelper::Define with an error, which names the node, where that
// ends the process. For the creators of REGISTER_OP_GRADIENT:
//
//   absl::Status SquareGradient(const tensorflow::AttrSlice& /*attrs*/,
//                               tensorflow::FunctionDef* g) {
//     return tensorflow_ext::Define(
//         // Arg defs
//         {"x: T", "dy: T"},
//         // Ret val defs
//         {"dx: T"},
//         // Attr defs
//         {"T: {float, double}"},
//         // Nodes
//         {
//             {{"twice"}, "AddV2", {"x", "x"}},
//             {{"dx"}, "Mul", {"dy", "twice"}},
//         },
//         g);
//   }
//
// The table is the same, and it may say more:
//   - nodes may stand in any order;
//   - attributes that follow from a node's inputs may be left out, as the T of
//     both nodes above. So they may in Python;
//   - lists. As many names as the op has outputs name these, a list as a whole;
//     as many as it makes tensors name these. "NODE:OUTPUT", with OUTPUT as in
//     the OpDef, is an output of a node, "NODE:OUTPUT:INDEX" and
//     "ARGUMENT:INDEX" are one tensor of a list;
//   - a node's device is kept.
//
// This header and define_internal.h need TensorFlow's headers alone.

#ifndef TENSORFLOW_EXT_GRADIENT_DEFINE_H_
#define TENSORFLOW_EXT_GRADIENT_DEFINE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/define/define_internal.h"

namespace tensorflow_ext {

// Writes a function without a name into `function`, which after an error is as
// it was.
//
// `arguments`, `results`: "NAME: TYPE" as Input and Output of REGISTER_OP take
// it. A result is an output of a node or an argument that has its name.
// `attributes`: "NAME: KIND" as Attr takes it; "$NAME" in a node stands for its
// value. `nodes`: see above and FunctionDefHelper::Node.
//
// Errors, all kInvalidArgument: a "NAME: TYPE" or "NAME: KIND" that is none; a
// name that is there twice; an op that is not registered; an attribute that the
// op has not, that is missing or of another kind; a "$NAME" that is not in
// `attributes`; an input, a result or a control input that nothing makes; a
// wrong number of inputs or names; an input of a wrong type, where that can be
// seen; nodes that wait for each other.
inline absl::Status Define(
    absl::Span<const std::string> arguments,
    absl::Span<const std::string> results,
    absl::Span<const std::string> attributes,
    absl::Span<const tensorflow::FunctionDefHelper::Node> nodes,
    tensorflow::FunctionDef* function) {
  return define_internal::Definer(nodes).Run(arguments, results, attributes,
                                             function);
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_DEFINE_H_
