#include "tensorflow_ext/gradient/expand/result_check.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.h"

namespace tensorflow_ext {

using tensorflow::NodeBuilder;
using tensorflow::Output;
using tensorflow::PartialTensorShape;

absl::Status ResultCheck::Check(int i, const Output& gradient, const Source& made_by) const {
  const Output input = forward_.input(i);
  if (input.type() != tensorflow::DT_RESOURCE && shapes_.MayAgree(gradient, input)) {
    return absl::OkStatus();
  }
  const PartialTensorShape expected = Expected(i, gradient);
  const PartialTensorShape found = shapes_.Of(gradient);
  if (found.IsCompatibleWith(expected)) return absl::OkStatus();
  for (size_t k = 0; k < upstream_.size(); ++k) {
    if (upstream_[k].node() == nullptr) continue;
    const PartialTensorShape given = shapes_.Of(upstream_[k]);
    const PartialTensorShape output = shapes_.Of(forward_.output(k));
    if (given.IsCompatibleWith(output)) continue;
    // TensorFlow's inference is wrong if it knows little: for ExtractVolumePatches it infers 4 axes
    // instead of 5.
    if (!output.IsFullyDefined()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the upstream gradient of output ", k, " has shape ", given.DebugString(),
        " where the output has shape ", output.DebugString(), "; pass one of the output's shape"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the gradient of ", NameOfInput(i), " has shape ", found.DebugString(),
                   " where the input has shape ", expected.DebugString(), "; ", Explain(made_by)));
}

bool ResultCheck::IsUncertain(int i, const Output& gradient) const {
  if (!tensorflow::DataTypeIsNumeric(gradient.type())) return false;
  const PartialTensorShape expected = Expected(i, gradient);
  if (forward_.input(i).type() == tensorflow::DT_RESOURCE && expected.unknown_rank()) {
    return false;  // it may not be a variable
  }
  return !expected.IsFullyDefined() || !shapes_.Of(gradient).IsFullyDefined();
}

absl::StatusOr<Output> ResultCheck::AddCheck(int i, const Output& gradient, const Source& made_by,
                                             GradientNodes* nodes) const {
  const Output input = forward_.input(i);
  const bool is_handle = input.type() == tensorflow::DT_RESOURCE;
  NodeBuilder size = nodes->New("shape_of_input", is_handle ? "VariableShape" : "Shape");
  size.Input(input.node(), input.index()).Attr("out_type", tensorflow::DT_INT64);
  TF_ASSIGN_OR_RETURN(tensorflow::Node * expected, nodes->Add(size));
  NodeBuilder builder = nodes->New("checked", "TfExt>CheckGradientShape");
  builder.Input(gradient.node(), gradient.index())
      .Input(expected, 0)
      .Attr("where", absl::StrCat("In the gradient of ", forward_.node()->type_string(),
                                  ": the gradient of ", NameOfInput(i)))
      .Attr("made_by", Explain(made_by));
  TF_ASSIGN_OR_RETURN(tensorflow::Node * checked, nodes->Add(builder));
  return Output(checked, 0);
}

PartialTensorShape ResultCheck::Expected(int i, const Output& gradient) const {
  const Output input = forward_.input(i);
  if (input.type() != tensorflow::DT_RESOURCE) return shapes_.Of(input);
  return shapes_.OfVariable(input, gradient.type());
}

std::string ResultCheck::NameOfInput(int i) const {
  const std::string input = absl::StrCat("input ", i);
  tensorflow::NameRangeMap arguments;
  const tensorflow::Node& node = *forward_.node();
  if (!tensorflow::NameRangesForNode(node, node.op_def(), &arguments, nullptr).ok()) {
    return input;
  }
  for (const auto& [name, range] : arguments) {
    if (range.first > i || i >= range.second) continue;
    return absl::StrCat(input, " ('", std::string(name), "')");
  }
  return input;
}

std::string ResultCheck::Explain(const Source& made_by) const {
  switch (made_by.kind) {
    case Source::kInput:
      return absl::StrCat("the definition returns ", NameOfInput(made_by.index), " as it is");
    case Source::kUpstream:
      return absl::StrCat("the definition returns the upstream gradient of output ", made_by.index,
                          " as it is");
    case Source::kOutput:
      return absl::StrCat("the definition returns output ", made_by.index, " of the op as it is");
    case Source::kStep:
      break;
  }
  const Step& step = plan_.steps[made_by.index];
  return absl::StrCat("node '", step.node.name(), "' of op ", step.node.op(),
                      " in the definition makes it");
}

}  // namespace tensorflow_ext
