#include "tensorflow_ext/tape/tape_values.h"

#include <cstring>

namespace tensorflow_ext {

using tensorflow::AttrValue;
using tensorflow::DataType;
using tensorflow::EagerContext;
using tensorflow::Tensor;
using tensorflow::TensorHandle;
using tensorflow::TensorShape;

AttrValue TypeAttr(DataType type) {
  AttrValue value;
  value.set_type(type);
  return value;
}

AttrValue IntAttr(int64_t number) {
  AttrValue value;
  value.set_i(number);
  return value;
}

HandlePtr ToHandle(const Tensor& value) {
  return HandlePtr(TensorHandle::CreateLocalHandle(value));
}

HandlePtr ShapeHandle(const TensorShape& shape, DataType type) {
  Tensor sizes(type, {shape.dims()});
  for (int d = 0; d < shape.dims(); ++d) {
    if (type == tensorflow::DT_INT64) {
      sizes.flat<int64_t>()(d) = shape.dim_size(d);
    } else {
      sizes.flat<int32_t>()(d) = shape.dim_size(d);
    }
  }
  return ToHandle(sizes);
}

absl::StatusOr<HandlePtr> LikeThis(EagerContext* context, const char* op, TensorHandle* x) {
  return RunOp(context, op, "", {x}, {{"T", TypeAttr(x->dtype)}});
}

absl::StatusOr<HandlePtr> Zeros(EagerContext* context, const std::string& device, DataType type,
                                const TensorShape& shape) {
  Tensor zero(type, {});
  std::memset(zero.data(), 0, zero.TotalBytes());
  return RunOp(context, "Fill", device, {ShapeHandle(shape).get(), ToHandle(zero).get()},
               {{"T", TypeAttr(type)}, {"index_type", TypeAttr(tensorflow::DT_INT64)}});
}

absl::StatusOr<HandlePtr> CastTo(EagerContext* context, DataType type, TensorHandle* x) {
  if (x->dtype == type) return NewRef(x);
  return RunOp(context, "Cast", "", {x}, {{"SrcT", TypeAttr(x->dtype)}, {"DstT", TypeAttr(type)}});
}

absl::StatusOr<HandlePtr> ZerosLike(EagerContext* context, TensorHandle* x) {
  if (x->dtype != tensorflow::DT_RESOURCE) return LikeThis(context, "ZerosLike", x);
  std::vector<tensorflow::DtypeAndPartialTensorShape> variable;
  TF_RETURN_IF_ERROR(x->GetResourceHandleDtypesAndShapes(&variable));
  tensorflow::TensorShape shape;
  if (variable.size() != 1 || !variable[0].shape.AsTensorShape(&shape)) {
    return absl::InvalidArgumentError(
        "x: zeros are requested for a variable whose type or shape is unknown; make its handle "
        "with "
        "a shape, or ask for no zeros (in C, TFEXT_UNCONNECTED_NONE)");
  }
  return Zeros(context, "", variable[0].dtype, shape);
}

}  // namespace tensorflow_ext
