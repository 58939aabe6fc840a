// SPDX-License-Identifier: Apache-2.0
//
// An op that is made of others. One table says of which: its kernel on every
// device, its shape function and its gradient follow from theirs. For ops that
// differ from ours in the order of arguments, in layouts or in the values of
// attributes. A call costs a microsecond or two more than those of its parts'
// kernels.
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

#ifndef TENSORFLOW_EXT_COMPOSITE_COMPOSITE_H_
#define TENSORFLOW_EXT_COMPOSITE_COMPOSITE_H_

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
  // The op among its parts that decides where it has kernels: for the devices
  // and types that this one has kernels for.
  std::string main_part;
  // Says its arguments, attributes and documentation.
  std::function<void(tensorflow::OpDefBuilder& op)> declare;
  // Its parts: writes a function of the op's inputs, in their order, that
  // returns its outputs (Define of gradient/define.h). Called for all
  // attributes, defaults included; they may steer it. The parts are stateless.
  std::function<absl::Status(const tensorflow::AttrSlice& attrs,
                             tensorflow::FunctionDef* function)>
      body;
};

// The body of a composite for given attributes.
struct CompositeBody {
  // An output of a part, or where `part` is kArgument an argument of the op.
  struct Source {
    int part;
    int index;
  };
  static constexpr int kArgument = -1;

  struct Part {
    std::shared_ptr<const tensorflow::NodeProperties> node;
    std::vector<Source> inputs;
    // The value of a Const, for shape functions; else without elements.
    tensorflow::Tensor value;
  };

  // Each stands behind those that it takes inputs of.
  std::vector<Part> parts;
  std::vector<Source> results;
};

// The body of `op` for `attrs`, which hold the defaults. InvalidArgument, an
// attribute has a value that a part does not take.
absl::StatusOr<CompositeBody> InstantiateComposite(
    const CompositeOp& op, const tensorflow::AttrSlice& attrs);

// `status` with the name of the composite before what a part of it says.
absl::Status InComposite(const CompositeOp& op, const absl::Status& status);

// Registers the op with its shape function, a kernel for each device and type
// that its main part has kernels for, how XLA compiles it, and its gradient for
// all clients. Does nothing where an op of this name is registered. Returns
// whether it did so. `op` is to live as long as the process. May be called at
// any time, by one thread at a time; whoever finds the op registered finds all
// the rest. Not while another thread loads a library, as
// TfExt_RegisterGradient.
bool RegisterComposite(const CompositeOp& op);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_COMPOSITE_COMPOSITE_H_
