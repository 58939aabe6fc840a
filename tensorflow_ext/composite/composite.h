// An op that is made of other ops. One table lists its parts, which give it a kernel on every
// device, a shape function and a gradient. For ops that differ from ours in the order of arguments,
// in layouts or in values of attributes. A call costs one or two microseconds more than the kernels
// of its parts.
//
//   static const auto* relu = new CompositeOp{
//       "My>Relu", "TfExt>Relu",
//       [](OpDefBuilder& op) {
//         op.Input("x: T").Output("y: T").Attr(kFloatingT);
//       },
//       [](const AttrSlice& /*attrs*/, FunctionDef* function) {
//         return Define({"x: T"}, {"y: T"}, {kFloatingT},
//                       {{{"y"}, "TfExt>Relu", {"x"}}}, function);
//       }};
//   RegisterComposite(*relu);

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/node_properties.h"
#include "tensorflow/core/framework/op_def_builder.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensorflow_ext {

struct CompositeOp {
  std::string name;
  // The part that decides which devices and types the op has kernels for: those of this part.
  std::string main_part;
  // Declares its arguments, attributes and documentation.
  std::function<void(tensorflow::OpDefBuilder& op)> declare;
  // Writes a function of the op's inputs, in their order, that returns its outputs (Define of
  // gradient/define.h). Called with all attributes, including defaults; they may steer it. The
  // parts are stateless.
  std::function<absl::Status(const tensorflow::AttrSlice& attrs, tensorflow::FunctionDef* function)>
      body;
};

// The body of a composite for given attributes.
struct CompositeBody {
  // An output of a part, or an argument of the op if `part` is kArgument.
  struct Source {
    int part;
    int index;
  };
  static constexpr int kArgument = -1;

  struct Part {
    std::shared_ptr<const tensorflow::NodeProperties> node;
    std::vector<Source> inputs;
    // The value of a Const, for shape functions; otherwise empty.
    tensorflow::Tensor value;
  };

  // Each comes after the parts whose outputs it takes.
  std::vector<Part> parts;
  std::vector<Source> results;
};

// The body of `op` for `attrs`, which include the defaults. InvalidArgument: a part refuses the
// value of an attribute.
absl::StatusOr<CompositeBody> InstantiateComposite(const CompositeOp& op,
                                                   const tensorflow::AttrSlice& attrs);

// Prefixes a part's error with the name of the composite.
absl::Status InComposite(const CompositeOp& op, const absl::Status& status);

// Registers the op with its shape function, its XLA lowering, its gradient for all clients, and a
// kernel for each device and type that its main part has kernels for. Does nothing if an op of this
// name is registered. Returns true if it registered the op. `op` must live as long as the process.
// May be called at any time, but by one thread at a time and, like TfExt_RegisterGradient, not
// while another thread loads a library. Once the op is registered, so is everything else.
bool RegisterComposite(const CompositeOp& op);

}  // namespace tensorflow_ext
