// MapDefun calls a function for each row of its arguments. Each call gets captured inputs whole.
// The gradient maps the function's gradient (differentiate_function.h) over the rows of the
// arguments and of the upstream gradients, and sums the results for captured inputs.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/static_shapes.h"
#include "tensorflow_ext/gradient/expand/upstream.h"
#include "tensorflow_ext/gradient/functions/differentiate_function.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DataTypeVector;
using tensorflow::DT_INVALID;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::PartialTensorShape;
using tensorflow::Scope;

class MapGradient {
 public:
  MapGradient(const Scope& scope, const Operation& op, const std::vector<Output>& upstream)
      : scope_(scope),
        op_(op),
        upstream_(WithoutZerosOfResources(scope, op, upstream)),
        nodes_(scope, op) {}

  absl::Status Run(std::vector<Output>* gradients) { return nodes_.Finish(AddAll(gradients)); }

 private:
  absl::Status AddAll(std::vector<Output>* gradients) {
    gradients->assign(op_.num_inputs(), tensorflow::NoGradient());
    const auto attributes = op_.node()->attrs();
    NameAttrList function;
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attributes, "Targuments", &rows_));
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attributes, "Tcaptured", &captured_));
    TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attributes, "f", &function));
    const DataTypeVector upstream_types = UpstreamTypes(op_, upstream_);
    TF_ASSIGN_OR_RETURN(const auto gradient, DifferentiateFunction(scope_.graph()->flib_def(),
                                                                   function, upstream_types));
    TF_RETURN_IF_ERROR(CheckNothingKept(*gradient));
    if (gradient->gradients.size() != rows_.size() + captured_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", function.name(), "' takes ", gradient->gradients.size(),
          " arguments, but the node has ", rows_.size() + captured_.size(), " inputs"));
    }
    TF_RETURN_IF_ERROR(scope_.graph()->AddFunctionLibrary(gradient->library));

    Outputs mapped = Inputs(0, rows_.size());
    DataTypeVector mapped_types = rows_;
    for (size_t i = 0; i < upstream_.size(); ++i) {
      if (upstream_types[i] == DT_INVALID) continue;
      mapped.push_back(upstream_[i]);
      mapped_types.push_back(upstream_types[i]);
    }
    TF_ASSIGN_OR_RETURN(const Outputs results, AddMap(*gradient, mapped, mapped_types));
    auto result = results.begin();
    for (size_t i = 0; i < gradient->gradients.size(); ++i) {
      if (gradient->gradients[i] == DT_INVALID) continue;
      Output one = *result++;
      if (i >= rows_.size()) {
        TF_ASSIGN_OR_RETURN(one, SumOfRows(one));
      }
      TF_ASSIGN_OR_RETURN((*gradients)[i], nodes_.WrapInIdentity(one));
    }
    return absl::OkStatus();
  }

  // Inputs [begin, end) of the op.
  Outputs Inputs(size_t begin, size_t end) const {
    Outputs inputs;
    for (size_t i = begin; i < end; ++i) inputs.push_back(op_.input(i));
    return inputs;
  }

  // The gradients that `gradient` returns, stacked.
  absl::StatusOr<Outputs> AddMap(const FunctionWithGradients& gradient, const Outputs& mapped,
                                 const DataTypeVector& mapped_types) {
    DataTypeVector types;
    std::vector<PartialTensorShape> shapes;
    for (size_t i = 0; i < gradient.gradients.size(); ++i) {
      if (gradient.gradients[i] == DT_INVALID) continue;
      const tensorflow::DataType input = op_.input_type(i);
      if (gradient.gradients[i] != input || input == tensorflow::DT_VARIANT) {
        return absl::UnimplementedError(
            absl::StrCat("input ", i, " is of type ", tensorflow::DataTypeString(input),
                         "; only numbers have a gradient here. Read variables, and take tensors "
                         "out of variants, outside the function"));
      }
      types.push_back(input);
      shapes.push_back(ShapeInCall(i));
    }
    if (types.empty()) return Outputs();
    TF_ASSIGN_OR_RETURN(const NameAttrList function, MappedGradient(gradient, mapped_types, types));
    int parallelism;
    TF_RETURN_IF_ERROR(
        tensorflow::GetNodeAttr(op_.node()->attrs(), "max_intra_op_parallelism", &parallelism));
    NodeBuilder builder = nodes_.New("map", "MapDefun");
    builder.Input(NodeOuts(mapped))
        .Input(NodeOuts(Inputs(rows_.size(), op_.num_inputs())))
        .Attr("Targuments", mapped_types)
        .Attr("Tcaptured", captured_)
        .Attr("output_types", types)
        .Attr("output_shapes", shapes)
        .Attr("f", function)
        .Attr("max_intra_op_parallelism", parallelism);
    TF_ASSIGN_OR_RETURN(Node * map, nodes_.Add(builder));
    Outputs results;
    for (size_t i = 0; i < types.size(); ++i) results.emplace_back(map, i);
    return results;
  }

  // The known part of the shape of input `i` inside the function. If there are no rows, only this
  // determines the shape of the results.
  PartialTensorShape ShapeInCall(size_t i) const {
    PartialTensorShape shape = StaticShapes(scope_).Of(op_.input(i));
    if (i < rows_.size() && shape.dims() > 0) shape.RemoveDim(0);
    return shape;
  }

  // The function's gradient, with the upstream gradients, which are mapped, before the captured
  // inputs.
  absl::StatusOr<NameAttrList> MappedGradient(const FunctionWithGradients& gradient,
                                              const DataTypeVector& mapped_types,
                                              const DataTypeVector& results) {
    FunctionBuilder builder;
    DataTypeVector types = mapped_types;
    types.insert(types.end(), captured_.begin(), captured_.end());
    Outputs arguments = builder.Arguments(types);
    std::rotate(arguments.begin() + rows_.size(), arguments.begin() + mapped_types.size(),
                arguments.end());
    return builder.Finish(
        absl::StrCat(gradient.name, "_mapped"),
        builder.Call("StatefulPartitionedCall", Named(gradient.name), arguments, results),
        scope_.graph());
  }

  absl::StatusOr<Output> SumOfRows(const Output& stacked) {
    TF_ASSIGN_OR_RETURN(const Output axis, nodes_.Constant("rows", ScalarInt(0)));
    NodeBuilder builder = nodes_.New("sum", "Sum");
    builder.Input(stacked.node(), stacked.index()).Input(axis.node(), axis.index());
    TF_ASSIGN_OR_RETURN(Node * sum, nodes_.Add(builder));
    return Output(sum, 0);
  }

  const Scope& scope_;
  const Operation& op_;
  const std::vector<Output> upstream_;
  GradientNodes nodes_;
  DataTypeVector rows_, captured_;  // types of the arguments
};

absl::Status MapDefunGrad(const Scope& scope, const Operation& op,
                          const std::vector<Output>& upstream, std::vector<Output>* gradients) {
  return MapGradient(scope, op, upstream).Run(gradients);
}
[[maybe_unused]] const bool registered_map_defun = RegisterClientGradient("MapDefun", MapDefunGrad);

}  // namespace
}  // namespace tensorflow_ext
