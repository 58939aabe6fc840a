// Ops that read a SavedModel, for languages that run ops but cannot call functions of a library.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/tstring.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/saved_model/meta_graph_lines.h"
#include "tensorflow_ext/saved_model/model_gradients.h"
#include "tensorflow_ext/saved_model/read_meta_graph.h"

namespace tensorflow_ext {

using tensorflow::MetaGraphDef;
using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::tstring;

namespace {

// The shape function of an op that reads the model in a folder; `rank` is that of its output.
auto ShapeFn(const char* op, int rank) {
  return [=](tensorflow::shape_inference::InferenceContext* c) -> absl::Status {
    tensorflow::shape_inference::ShapeHandle directory;
    TF_RETURN_IF_ERROR(InferRank(c, op, "directory", 0, 0, kScalar, &directory));
    c->set_output(0, c->UnknownShapeOfRank(rank));
    return absl::OkStatus();
  };
}

}  // namespace

// Stateful, because the file that they read may change between two runs.
REGISTER_OP("TfExt>DescribeSavedModel")
    .Input("directory: string")
    .Output("lines: string")
    .Attr("tags: list(string) = ['serve']")
    .SetIsStateful()
    .SetShapeFn(ShapeFn("TfExt>DescribeSavedModel", 1))
    .Doc(R"doc(
Lists the names of a SavedModel's signatures, variables and saver.

For languages that have no Protobuf and that run ops but cannot call functions
of a library. The lines are those of TfExt_DescribeMetaGraph.

directory: A folder with a saved_model.pb or saved_model.pbtxt, [].
lines: One item per line, with fields separated by single tabs, [n]:
  "signature NAME input KEY TENSOR TYPE SHAPE", the same with output,
  "signature NAME variable NODE TYPE SHAPE WHETHER", "saver filename TENSOR",
  "saver copy NODE", "saver save TENSOR", "saver restore NODE" and
  "gradient FUNCTION NODE NAME WHETHER".
tags: The tags of the graph to describe, all of them, in any order.
)doc");

REGISTER_OP("TfExt>SavedModelGradients")
    .Input("directory: string")
    .Output("graph_def: string")
    .Attr("tags: list(string) = ['serve']")
    .SetIsStateful()
    .SetShapeFn(ShapeFn("TfExt>SavedModelGradients", 0))
    .Doc(R"doc(
Gives the gradients that a SavedModel brings (tf.custom_gradient).

A graph that imports the result uses them; until then, a gradient through a node
that has one is an error. For languages that run ops but cannot call
TfExt_UseModelGradients.

directory: A folder with a saved_model.pb or saved_model.pbtxt, [].
graph_def: A serialized tensorflow.GraphDef that has functions and no nodes, [].
  Import it into the graph of the model, before gradients are added.
tags: The tags of the graph that was loaded, all of them, in any order.
)doc");

// Names and bytes have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>DescribeSavedModel");
REGISTER_OP_NO_GRADIENT("TfExt>SavedModelGradients");

namespace {

// Reads a graph of the model in the folder that is the input.
class SavedModelOp : public OpKernel {
 public:
  explicit SavedModelOp(tensorflow::OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("tags", &tags_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& directory = context->input(0);
    OP_REQUIRES_OK(context,
                   CheckRank(type_string().c_str(), "directory", directory.shape(), 0, kScalar));
    const std::string folder(directory.scalar<tstring>()());
    const absl::Status status = Write(folder, context);
    OP_REQUIRES(context, status.ok(),
                tensorflow::errors::CreateWithUpdatedMessage(
                    status, absl::StrCat(type_string(), ": argument 'directory' is '", folder,
                                         "': ", status.message())));
  }

 protected:
  virtual absl::Status Write(const MetaGraphDef& meta_graph, OpKernelContext* context) = 0;

 private:
  absl::Status Write(const std::string& folder, OpKernelContext* context) {
    TF_ASSIGN_OR_RETURN(const MetaGraphDef meta_graph, ReadMetaGraph(folder, tags_));
    return Write(meta_graph, context);
  }

  std::vector<std::string> tags_;
};

class DescribeSavedModelOp final : public SavedModelOp {
  using SavedModelOp::SavedModelOp;

  absl::Status Write(const MetaGraphDef& meta_graph, OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const std::vector<std::string> found, MetaGraphLines(meta_graph));
    Tensor* lines = nullptr;
    const auto count = static_cast<int64_t>(found.size());
    TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({count}), &lines));
    std::copy(found.begin(), found.end(), lines->vec<tstring>().data());
    return absl::OkStatus();
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>DescribeSavedModel").Device(tensorflow::DEVICE_CPU),
                        DescribeSavedModelOp);

class SavedModelGradientsOp final : public SavedModelOp {
  using SavedModelOp::SavedModelOp;

  absl::Status Write(const MetaGraphDef& meta_graph, OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const std::string bytes, GradientsAsGraphDef(meta_graph));
    Tensor* graph_def = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({}), &graph_def));
    graph_def->scalar<tstring>()() = bytes;
    return absl::OkStatus();
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>SavedModelGradients").Device(tensorflow::DEVICE_CPU),
                        SavedModelGradientsOp);

}  // namespace
}  // namespace tensorflow_ext
