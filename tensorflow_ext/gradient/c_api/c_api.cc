#include "tensorflow_ext/gradient/c_api.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/bridge/other_libraries.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/gradient/define/definition.h"
#include "tensorflow_ext/gradient/define/node_attributes.h"
#include "tensorflow_ext/gradient/plan/plan.h"
#include "tensorflow_ext/gradient/registry/function_registry.h"

using tensorflow::NodeDef;
using tensorflow_ext::Guarded;
using tensorflow_ext::Owned;
using tensorflow_ext::ParseNodeDef;
using tensorflow_ext::Write;

namespace {

// Wraps another library's `creator`; null without an op or a creator.
tensorflow_ext::GradientCreator CreatorOver(const char* op, TfExt_GradientCreator creator,
                                            void* data) {
  if (op == nullptr || creator == nullptr) return nullptr;
  return [op = std::string(op), creator, data](const tensorflow::AttrSlice& attrs,
                                               tensorflow::FunctionDef* function) -> absl::Status {
    const std::string bytes = tensorflow_ext::MakeNodeDef(op, attrs).SerializeAsString();
    const Owned<TF_Buffer, TF_DeleteBuffer> written(TF_NewBuffer());
    const Owned<TF_Status, TF_DeleteStatus> status(TF_NewStatus());
    creator(bytes.data(), bytes.size(), data, written.get(), status.get());
    TF_RETURN_IF_ERROR(tensorflow::StatusFromTF_Status(status.get()));
    if (!function->ParseFromArray(written->data, static_cast<int>(written->length))) {
      return absl::FailedPreconditionError(
          absl::StrCat("its creator wrote ", written->length,
                       " bytes that are no serialized tensorflow.FunctionDef"));
    }
    return absl::OkStatus();
  };
}

}  // namespace

extern "C" {

uint32_t TfExt_GradientRegistries(const char* op) {
  return op == nullptr ? 0 : tensorflow_ext::GradientRegistries(op);
}

int64_t TfExt_RegisterGradients(void) { return tensorflow_ext::RegisterGradients(); }

void TfExt_RegisterGradient(const char* op, TfExt_GradientCreator creator, void* data,
                            TfExt_Precedence precedence, TF_Status* status) {
  Guarded(status, [&] {
    return tensorflow_ext::RegisterOtherGradient(op, CreatorOver(op, creator, data), precedence);
  });
}

int TfExt_RegisterGradientAtLoad(const char* op, TfExt_GradientCreator creator, void* data,
                                 TfExt_Precedence precedence) {
  const absl::Status registered =
      tensorflow_ext::RegisterOtherGradient(op, CreatorOver(op, creator, data), precedence);
  return tensorflow_ext::KeepRegistrationError(registered).ok();
}

void TfExt_TakeRegistrationErrors(TF_Buffer* errors, TF_Status* status) {
  Guarded(status, [&] {
    // Must precede taking the errors: errors that are taken and not written are lost.
    TF_RETURN_IF_ERROR(tensorflow_ext::CheckEmpty(errors));
    return Write(tensorflow_ext::TakeRegistrationErrors(), errors);
  });
}

void TfExt_ListOps(TF_Buffer* names, TF_Status* status) {
  Guarded(status, [&] {
    std::string lines = absl::StrJoin(tensorflow_ext::OpsOfFunctionRegistry().defined, "\n");
    return Write(lines.empty() ? lines : lines + "\n", names);
  });
}

void TfExt_GradientFunctionDef(const void* node_def, size_t node_def_length,
                               TF_Buffer* function_def, TF_Status* status) {
  Guarded(status, [&]() -> absl::Status {
    NodeDef node;
    TF_RETURN_IF_ERROR(ParseNodeDef(node_def, node_def_length, &node));
    TF_ASSIGN_OR_RETURN(tensorflow_ext::Forward forward, tensorflow_ext::FindForward(node));
    TF_ASSIGN_OR_RETURN(tensorflow_ext::Definition definition,
                        tensorflow_ext::FindDefinition(forward));
    return Write(definition.function.SerializeAsString(), function_def);
  });
}

void TfExt_GradientPlan(const void* node_def, size_t node_def_length, const uint8_t* wanted,
                        size_t wanted_length, TF_Buffer* plan, TF_Status* status) {
  Guarded(status, [&]() -> absl::Status {
    NodeDef node;
    TF_RETURN_IF_ERROR(ParseNodeDef(node_def, node_def_length, &node));
    tensorflow_ext::Wanted asked_for;
    if (wanted != nullptr) asked_for.inputs.assign(wanted, wanted + wanted_length);
    TF_ASSIGN_OR_RETURN(auto found, tensorflow_ext::FindPlan(node, asked_for));
    return Write(tensorflow_ext::PlanToGraphDef(*found).SerializeAsString(), plan);
  });
}

}  // extern "C"
