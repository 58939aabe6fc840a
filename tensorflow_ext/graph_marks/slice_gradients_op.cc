#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/gradient/slices/gradient_slices.h"
#include "tensorflow_ext/graph_marks/graph_bytes.h"

namespace tensorflow_ext {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

namespace {

constexpr char kSliceGradients[] = "TfExt>SliceGradients";

absl::Status SliceGradientsShape(InferenceContext* c) {
  ShapeHandle gradients;
  TF_RETURN_IF_ERROR(InferGraphAndNames(c, kSliceGradients, "gradients", &gradients));
  for (int i = 1; i < c->num_outputs(); ++i) c->set_output(i, gradients);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("TfExt>SliceGradients")
    .Input("graph_def: T")
    .Input("gradients: string")
    .Output("nodes: T")
    .Output("values: string")
    .Output("indices: string")
    .Output("shapes: string")
    .Output("dense: string")
    .Output("reasons: string")
    .Attr("sum_repeated: bool = false")
    .Attr("T: {string, uint8} = DT_STRING")
    .SetShapeFn(SliceGradientsShape)
    .Doc(R"doc(
Turns gradients by tables of which rows were gathered into these rows.

This is TfExt_SliceGradients as an op, for languages that run ops but cannot
call functions of a library. The bytes of `graph_def` followed by those of
`nodes` are a GraphDef of both, which any client can import.

graph_def: A serialized tensorflow.GraphDef, its library included: a string, []; or
  its bytes, [n], for languages whose strings cannot hold all bytes, as in Rust.
gradients: Gradients that were added to it, as "node:index", [n]. Pass all
  gradients of a step at once.
nodes: The nodes to add and functions that they call, a serialized GraphDef whose
  inputs come from these nodes or from the graph, in the form of `graph_def`.
values: The tensors with the rows of each gradient; "" if it is dense, [n].
indices: The tensors with the indices of these rows, int32 or int64; "" if it is
  dense, [n].
shapes: The tensors with the shape of the table, of the type of the indices; "" if
  it is dense, [n].
dense: The tensors that replace dense gradients; "" if it is slices, [n].
reasons: The nodes that make gradients dense; "" if it is slices, [n].
sum_repeated: If true, no two indices of a gradient are equal: the rows of equal
  ones are added up.
)doc");

// Graphs have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>SliceGradients");

namespace {

template <typename T>
class SliceGradientsOp : public OpKernel {
 public:
  explicit SliceGradientsOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("sum_repeated", &sum_repeated_));
  }

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckGraphAndNames<T>(kSliceGradients, "gradients", *context));
    const absl::string_view bytes = Bytes<T>::Read(context->input(0));
    const absl::StatusOr<SlicedGradients> sliced =
        SliceGradients(bytes.data(), bytes.size(), Names(context->input(1)), sum_repeated_);
    OP_REQUIRES_OK(context, Prefixed(kSliceGradients, sliced.status()));
    OP_REQUIRES_OK(context, WriteGraphDef<T>(sliced->nodes, context));
    // In the order of the outputs.
    int output = 0;
    for (const auto field :
         {&GradientSlices::values, &GradientSlices::indices, &GradientSlices::shape,
          &GradientSlices::dense, &GradientSlices::reason}) {
      std::vector<std::string> names;
      for (const GradientSlices& one : sliced->gradients) names.push_back(one.*field);
      OP_REQUIRES_OK(context, WriteNames(++output, names, context));
    }
  }

 private:
  bool sum_repeated_ = false;
};

REGISTER_GRAPH_KERNEL("TfExt>SliceGradients", SliceGradientsOp);

}  // namespace
}  // namespace tensorflow_ext
