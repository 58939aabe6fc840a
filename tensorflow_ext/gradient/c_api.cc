// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/c_api.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/c_api_internal.h"
#include "tensorflow_ext/gradient/client_registry.h"
#include "tensorflow_ext/gradient/definition.h"
#include "tensorflow_ext/gradient/function_registry.h"
#include "tensorflow_ext/gradient/other_libraries.h"
#include "tensorflow_ext/gradient/plan.h"

using tensorflow::NodeDef;
using tensorflow_ext::Guarded;
using tensorflow_ext::ParseNodeDef;
using tensorflow_ext::Write;

namespace {

struct Deleter {
  void operator()(TF_Buffer* buffer) const { TF_DeleteBuffer(buffer); }
  void operator()(TF_Status* status) const { TF_DeleteStatus(status); }
};

// What asks `creator` of another library.
tensorflow_ext::GradientCreator CreatorOver(const std::string& op,
                                            TfExt_GradientCreator creator,
                                            void* data) {
  return [=](const tensorflow::AttrSlice& attrs,
             tensorflow::FunctionDef* function) -> absl::Status {
    NodeDef node;
    node.set_op(op);
    for (const auto& [name, value] : attrs) {
      (*node.mutable_attr())[name] = value;
    }
    const std::string bytes = node.SerializeAsString();
    const std::unique_ptr<TF_Buffer, Deleter> written(TF_NewBuffer());
    const std::unique_ptr<TF_Status, Deleter> status(TF_NewStatus());
    creator(bytes.data(), bytes.size(), data, written.get(), status.get());
    if (TF_GetCode(status.get()) != TF_OK) {
      return absl::Status(
          static_cast<absl::StatusCode>(TF_GetCode(status.get())),
          TF_Message(status.get()));
    }
    if (!function->ParseFromArray(written->data,
                                  static_cast<int>(written->length))) {
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

int64_t TfExt_RegisterGradients(void) {
  return tensorflow_ext::RegisterGradients();
}

void TfExt_RegisterGradient(const char* op, TfExt_GradientCreator creator,
                            void* data, TfExt_Precedence precedence,
                            TF_Status* status) {
  Guarded(status, [&] {
    return tensorflow_ext::RegisterOtherGradient(
        op, op && creator ? CreatorOver(op, creator, data) : nullptr,
        precedence);
  });
}

int TfExt_RegisterGradientAtLoad(const char* op, TfExt_GradientCreator creator,
                                 void* data, TfExt_Precedence precedence) {
  const absl::Status registered = tensorflow_ext::RegisterOtherGradient(
      op, op && creator ? CreatorOver(op, creator, data) : nullptr, precedence);
  return tensorflow_ext::KeepRegistrationError(registered).ok();
}

void TfExt_TakeRegistrationErrors(TF_Buffer* errors, TF_Status* status) {
  Guarded(status, [&] {
    return Write(tensorflow_ext::TakeRegistrationErrors(), errors);
  });
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
