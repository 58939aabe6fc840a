#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"
#include "tensorflow_ext/gradient/expand/run_time_checks.h"
#include "tensorflow_ext/gradient/plan/check_definition.h"
#include "tensorflow_ext/gradient/registry/named_gradient.h"

extern "C" {

void TfExt_CheckDefinition(const void* node_def, size_t node_def_length, TF_Status* status) {
  tensorflow_ext::Guarded(status, [&]() -> absl::Status {
    tensorflow::NodeDef node;
    TF_RETURN_IF_ERROR(tensorflow_ext::ParseNodeDef(node_def, node_def_length, &node));
    return tensorflow_ext::CheckDefinition(node);
  });
}

int TfExt_CheckGradientShapes(int check) {
  if (check < 0) return tensorflow_ext::ChecksAtRunTime();
  return tensorflow_ext::SetChecksAtRunTime(check != 0);
}

int TfExt_AllowMissingGradients(int allow) { return tensorflow_ext::AllowMissingGradients(allow); }

}  // extern "C"
