// Tables of another library, registered by TFEXT_REGISTER_OP_GRADIENT.

#include <stdexcept>

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/register_op_gradient.h"

namespace {

using tensorflow::AttrSlice;
using tensorflow::FunctionDef;
using FDH = tensorflow::FunctionDefHelper;

absl::Status Double(const AttrSlice& /*attrs*/, FunctionDef* g) {
  *g = FDH::Define({"x: T", "dy: T"}, {"dx: T"}, {"T: {float, double}"},
                   {{{"dx"}, "AddV2", {"dy", "dy"}, {{"T", "$T"}}}});
  return absl::OkStatus();
}
TFEXT_REGISTER_OP_GRADIENT("Outside>Table", Double);
TFEXT_REGISTER_OP_GRADIENT("Erfc", Double);
TFEXT_REGISTER_OP_STAND_IN("Lgamma", Double);

absl::Status Throw(const AttrSlice& /*attrs*/, FunctionDef* /*g*/) {
  throw std::runtime_error("no table of this");
}
TFEXT_REGISTER_OP_GRADIENT("Outside>Throws", Throw);

absl::Status Refuse(const AttrSlice& attrs, FunctionDef* /*g*/) {
  float scale = 0;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(attrs, "scale", &scale));
  return absl::UnimplementedError("scale is " + std::to_string(scale));
}
TFEXT_REGISTER_OP_GRADIENT("Outside>Refuses", Refuse);

}  // namespace
