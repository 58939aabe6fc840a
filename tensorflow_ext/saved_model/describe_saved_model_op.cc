// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/cc/saved_model/reader.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/tstring.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/saved_model/meta_graph_lines.h"

namespace tensorflow_ext {

using tensorflow::MetaGraphDef;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::tstring;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

namespace {

constexpr char kDescribeSavedModel[] = "TfExt>DescribeSavedModel";

absl::Status DescribeSavedModelShape(InferenceContext* c) {
  ShapeHandle directory;
  TF_RETURN_IF_ERROR(InferRank(c, kDescribeSavedModel, "directory", 0, 0, kScalar, &directory));
  c->set_output(0, c->Vector(c->UnknownDim()));
  return absl::OkStatus();
}

}  // namespace

// Stateful, because the file that it reads may change between two runs.
REGISTER_OP("TfExt>DescribeSavedModel")
    .Input("directory: string")
    .Output("lines: string")
    .Attr("tags: list(string) = ['serve']")
    .SetIsStateful()
    .SetShapeFn(DescribeSavedModelShape)
    .Doc(R"doc(
Lists the names of a SavedModel's signatures, variables and saver.

For languages that have no Protobuf and that run ops but cannot call functions
of a library. The lines are those of TfExt_DescribeMetaGraph.

directory: A folder with a saved_model.pb or saved_model.pbtxt, [].
lines: One item per line, with fields separated by single tabs, [n]:
  "signature NAME input KEY TENSOR TYPE SHAPE", the same with output,
  "signature NAME variable NODE TYPE SHAPE WHETHER", "saver filename TENSOR",
  "saver copy NODE", "saver save TENSOR" and "saver restore NODE".
tags: The tags of the graph to describe, all of them, in any order.
)doc");

// Names have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>DescribeSavedModel");

namespace {

class DescribeSavedModelOp : public OpKernel {
 public:
  explicit DescribeSavedModelOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("tags", &tags_));
  }

  void Compute(OpKernelContext* context) override {
    const Tensor& directory = context->input(0);
    OP_REQUIRES_OK(context,
                   CheckRank(kDescribeSavedModel, "directory", directory.shape(), 0, kScalar));
    const std::string folder(directory.scalar<tstring>()());
    const absl::StatusOr<std::vector<std::string>> found = Describe(folder);
    OP_REQUIRES(context, found.ok(),
                tensorflow::errors::CreateWithUpdatedMessage(
                    found.status(), absl::StrCat(kDescribeSavedModel, ": argument 'directory' is '",
                                                 folder, "': ", found.status().message())));
    Tensor* lines = nullptr;
    const auto count = static_cast<int64_t>(found->size());
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({count}), &lines));
    std::copy(found->begin(), found->end(), lines->vec<tstring>().data());
  }

 private:
  absl::StatusOr<std::vector<std::string>> Describe(const std::string& folder) const {
    tensorflow::SavedModel model;
    TF_RETURN_IF_ERROR(tensorflow::ReadSavedModel(folder, &model));
    using Tags = std::unordered_set<std::string>;
    const Tags wanted(tags_.begin(), tags_.end());
    std::vector<std::string> others;
    for (const MetaGraphDef& meta_graph : model.meta_graphs()) {
      const auto& tags = meta_graph.meta_info_def().tags();
      if (Tags(tags.begin(), tags.end()) == wanted) {
        return MetaGraphLines(meta_graph);
      }
      others.push_back(absl::StrCat("[", absl::StrJoin(tags, ", "), "]"));
    }
    return absl::NotFoundError(
        absl::StrCat("it has no graph with the tags [", absl::StrJoin(tags_, ", "),
                     "]; those there are: ", others.empty() ? "none" : absl::StrJoin(others, ", "),
                     ". Give the attribute 'tags' the tags of one of them"));
  }

  std::vector<std::string> tags_;
};
REGISTER_KERNEL_BUILDER(Name("TfExt>DescribeSavedModel").Device(tensorflow::DEVICE_CPU),
                        DescribeSavedModelOp);

}  // namespace
}  // namespace tensorflow_ext
