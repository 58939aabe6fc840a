// FunctionDefHelper::Define that returns an error, with the node's name, where FunctionDefHelper's
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
// The table has the same form, and more is allowed:
//   - Nodes may come in any order.
//   - Attributes that follow from a node's inputs may be missing, as the T of
//     both nodes above. In Python they may too.
//   - Lists. If a node has as many names as its op has outputs, each names an
//     output, a list as a whole; if it has as many names as it makes tensors,
//     each names a tensor. "NODE:OUTPUT", with OUTPUT as in the OpDef, is an
//     output of a node; "NODE:OUTPUT:INDEX" and "ARGUMENT:INDEX" are one tensor
//     of a list.
//   - A node keeps its device.
//
// This header and define_internal.h need only TensorFlow's headers.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/define/define_internal.h"

namespace tensorflow_ext {

// Writes a function without a name into `function`; an error leaves it unchanged.
//
// `arguments`, `results`: "NAME: TYPE", in the form of Input and Output of REGISTER_OP. A result is
// an output of a node or an argument of that name. `attributes`: "NAME: KIND", in the form of Attr;
// "$NAME" in a node is its value. `nodes`: see above and FunctionDefHelper::Node.
//
// Errors, all kInvalidArgument: a "NAME: TYPE" or "NAME: KIND" that does not parse; a name that
// occurs twice; an op that is not registered; an attribute that the op does not have, that is
// missing or of another kind; a "$NAME" that is not in `attributes`; an input, a result or a
// control input that nothing makes; a wrong number of inputs or names; an input of a wrong type, if
// the type is known; a cycle of nodes.
inline absl::Status Define(absl::Span<const std::string> arguments,
                           absl::Span<const std::string> results,
                           absl::Span<const std::string> attributes,
                           absl::Span<const tensorflow::FunctionDefHelper::Node> nodes,
                           tensorflow::FunctionDef* function) {
  return define_internal::Definer(nodes).Run(arguments, results, attributes, function);
}

}  // namespace tensorflow_ext
