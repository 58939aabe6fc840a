// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/c_api.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow_ext/gradient/c_api_internal.h"
#include "tensorflow_ext/gradient/client_registry.h"
#include "tensorflow_ext/gradient/definition.h"
#include "tensorflow_ext/gradient/function_registry.h"
#include "tensorflow_ext/gradient/plan.h"

using tensorflow_ext::Guarded;
using tensorflow_ext::Write;

namespace {

using tensorflow::NodeDef;

absl::Status ParseNodeDef(const void* bytes, size_t length, NodeDef* node) {
  if (bytes != nullptr &&
      node->ParseFromArray(bytes, static_cast<int>(length))) {
    if (!node->op().empty()) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "node_def: expected a serialized tensorflow.NodeDef that names an op, "
      "got ",
      bytes == nullptr ? "NULL"
                       : absl::StrCat(length, " bytes of something else")));
}

}  // namespace

extern "C" {

uint32_t TfExt_GradientRegistries(const char* op) {
  return op == nullptr ? 0 : tensorflow_ext::GradientRegistries(op);
}

int64_t TfExt_RegisterGradients(void) {
  return tensorflow_ext::RegisterGradients();
}

void TfExt_ListOps(TF_Buffer* names, TF_Status* status) {
  Guarded(status, [&] {
    std::string lines =
        absl::StrJoin(tensorflow_ext::OpsWithFunctionGradient(), "\n");
    return Write(lines.empty() ? lines : lines + "\n", names);
  });
}

void TfExt_GradientFunctionDef(const void* node_def, size_t node_def_length,
                               TF_Buffer* function_def, TF_Status* status) {
  Guarded(status, [&]() -> absl::Status {
    NodeDef node;
    TF_RETURN_IF_ERROR(ParseNodeDef(node_def, node_def_length, &node));
    TF_ASSIGN_OR_RETURN(tensorflow_ext::Forward forward,
                        tensorflow_ext::FindForward(node));
    TF_ASSIGN_OR_RETURN(tensorflow_ext::Definition definition,
                        tensorflow_ext::FindDefinition(forward));
    return Write(definition.function.SerializeAsString(), function_def);
  });
}

void TfExt_GradientPlan(const void* node_def, size_t node_def_length,
                        const uint8_t* wanted, size_t wanted_length,
                        TF_Buffer* plan, TF_Status* status) {
  Guarded(status, [&]() -> absl::Status {
    NodeDef node;
    TF_RETURN_IF_ERROR(ParseNodeDef(node_def, node_def_length, &node));
    TF_ASSIGN_OR_RETURN(
        auto found,
        tensorflow_ext::FindPlan(
            node, absl::MakeConstSpan(wanted, wanted ? wanted_length : 0)));
    return Write(tensorflow_ext::PlanToGraphDef(*found).SerializeAsString(),
                 plan);
  });
}

}  // extern "C"
