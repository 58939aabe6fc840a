// Kernels that TensorFlow Addons had under these names from version 0.6 or 0.7 to 0.11.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tensorflow_ext/addons/addons_ops.h"
#include "tensorflow_ext/gradient/define.h"
#include "tensorflow_ext/gradient/define/definition_parts.h"
#include "tensorflow_ext/type_attributes.h"

namespace tensorflow_ext {
namespace {

// Wraps our op with the same arguments and attributes.
CompositeOp Renamed(const std::string& name, const std::vector<std::string>& arguments,
                    const std::string& result, const std::vector<std::string>& attr_defs) {
  const std::string part = absl::StrCat("TfExt>", name);
  CompositeOp op;
  op.name = absl::StrCat("Addons>", name);
  op.main_part = part;
  op.declare = [=](tensorflow::OpDefBuilder& builder) {
    for (const std::string& argument : arguments) {
      builder.Input(absl::StrCat(argument, ": T"));
    }
    builder.Output(absl::StrCat(result, ": T")).Attr(kFloatingT);
    for (const std::string& attr_def : attr_defs) builder.Attr(attr_def);
    builder.Doc(absl::StrCat("TensorFlow Addons' op of this name: ", part, ", and its gradients."));
  };
  op.body = [=](const tensorflow::AttrSlice& /*attrs*/, tensorflow::FunctionDef* function) {
    std::vector<std::string> inputs, types = {kFloatingT}, names = {"T"};
    for (const std::string& argument : arguments) {
      inputs.push_back(absl::StrCat(argument, ": T"));
    }
    for (const std::string& attr_def : attr_defs) {
      // Drops the default: "lower: float = -0.5".
      const std::vector<std::string> words = absl::StrSplit(attr_def, ' ');
      names.push_back(std::string(absl::StripSuffix(words[0], ":")));
      types.push_back(absl::StrCat(words[0], " ", words[1]));
    }
    return Define(
        // Arg defs
        inputs,
        // Ret val defs
        {absl::StrCat(result, ": T")},
        // Attr defs
        types,
        // Nodes
        {{{result}, part, arguments, AttrsOfOp(names)}}, function);
  };
  return op;
}

std::vector<CompositeOp> MakeActivations() {
  const std::vector<std::string> none;
  // Since 0.7; version 0.6 had bounds of -1 and 1 for Hardshrink.
  const std::vector<std::string> bounds = {"lower: float = -0.5", "upper: float = 0.5"};
  const std::vector<std::string> approximate = {"approximate: bool = true"};
  const std::vector<std::pair<std::string, std::vector<std::string>>> all = {
      {"Gelu", approximate}, {"Hardshrink", bounds}, {"Lisht", none},
      {"Mish", none},        {"Softshrink", bounds}, {"Tanhshrink", none},
  };
  std::vector<CompositeOp> ops;
  for (const auto& [name, attr_defs] : all) {
    ops.push_back(Renamed(name, {"features"}, "activations", attr_defs));
    ops.push_back(
        Renamed(absl::StrCat(name, "Grad"), {"gradients", "features"}, "backprops", attr_defs));
  }
  return ops;
}

}  // namespace

const std::vector<CompositeOp>& AddonsActivations() {
  static const auto* ops = new std::vector<CompositeOp>(MakeActivations());
  return *ops;
}

}  // namespace tensorflow_ext
