#include "tensorflow_ext/gradient/plan/known_values.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow_ext/gradient/plan/shape_arithmetic.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::DT_INT32;
using tensorflow::DT_INT64;
using tensorflow::NodeDef;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorProto;
using tensorflow::TensorShape;

namespace {

constexpr int64_t kUnknown = -1;

template <typename T>
PartialTensorShape ToShape(const Tensor& sizes) {
  const auto values = sizes.flat<T>();
  PartialTensorShape shape;
  const bool is_shape =
      PartialTensorShape::MakePartialShape(values.data(), values.size(), &shape).ok();
  return is_shape ? shape : PartialTensorShape();
}

Tensor Integers(const std::vector<int64_t>& values, DataType type) {
  Tensor result(type, TensorShape({static_cast<int64_t>(values.size())}));
  if (type == DT_INT64) {
    std::copy(values.begin(), values.end(), result.flat<int64_t>().data());
  } else {
    std::copy(values.begin(), values.end(), result.flat<int32_t>().data());
  }
  return result;
}

Known Scalar(int64_t value, DataType type) {
  Tensor result = Integers({value}, type);
  Tensor scalar;
  if (!scalar.CopyFrom(result, TensorShape({}))) return Known();
  return KnownValue(scalar);
}

// The output of Shape of a tensor of shape `of`.
Known ShapeVector(const PartialTensorShape& of, DataType type) {
  Known known;
  known.sizes = of;
  if (of.unknown_rank()) return known;
  known.shape = PartialTensorShape({of.dims()});
  TensorShape shape;
  if (!of.AsTensorShape(&shape)) return known;
  std::vector<int64_t> sizes;
  for (int i = 0; i < shape.dims(); ++i) sizes.push_back(shape.dim_size(i));
  known.value = Integers(sizes, type);
  return known;
}

DataType TypeAttribute(const Step& step, const char* name) {
  return step.node.attr().at(name).type();
}

// The axes over which the gradient of x is summed, if x is broadcast with `y` and the axes are
// certain.
std::optional<std::vector<int64_t>> SummedAxes(const PartialTensorShape& x,
                                               const PartialTensorShape& y) {
  if (x.unknown_rank() || y.unknown_rank()) return std::nullopt;
  const int rank = std::max(x.dims(), y.dims());
  // Missing leading sizes are 1.
  const auto size = [rank](const PartialTensorShape& shape, int axis) {
    const int i = axis - (rank - shape.dims());
    return i < 0 ? 1 : shape.dim_size(i);
  };
  std::vector<int64_t> axes;
  for (int axis = 0; axis < rank; ++axis) {
    const bool is_missing = axis < rank - x.dims();
    const int64_t x_size = size(x, axis), y_size = size(y, axis);
    if (is_missing || (x_size == 1 && y_size != 1)) {
      axes.push_back(axis);
    } else if (x_size == kUnknown && y_size != 1) {
      return std::nullopt;  // x may have size 1 there
    }
  }
  return axes;
}

// True if an op takes elements of its first input regardless of their values.
bool TakesElements(const std::string& op) {
  return op == "GatherV2" || op == "Slice" || op == "StridedSlice";
}

// Known elements that such an op takes from a vector of sizes, some of which may be unknown: the op
// runs on the indices of the sizes.
Known TakenSizes(const Step& step, const std::vector<Known>& inputs) {
  const PartialTensorShape& sizes = inputs[0].sizes;
  if (inputs[0].value || sizes.unknown_rank()) return Known();
  std::vector<int64_t> indices(sizes.dims());
  std::iota(indices.begin(), indices.end(), 0);
  const DataType type = TypeAttribute(step, step.node.op() == "GatherV2" ? "Tparams" : "T");
  std::vector<Tensor> values = {Integers(indices, type)};
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!inputs[i].value) return Known();
    values.push_back(*inputs[i].value);
  }
  const std::vector<Tensor> found = ComputeNow(step.node, values);
  if (found.size() != 1 || found[0].dims() > 1) return Known();
  PartialTensorShape shape{TensorShape({})};
  for (int64_t i = 0; i < found[0].NumElements(); ++i) {
    const int64_t index =
        type == DT_INT64 ? found[0].flat<int64_t>()(i) : found[0].flat<int32_t>()(i);
    shape.AddDim(sizes.dim_size(index));
  }
  if (found[0].dims() == 1) return ShapeVector(shape, type);
  return shape.dim_size(0) == kUnknown ? Known() : Scalar(shape.dim_size(0), type);
}

bool IsKnownZero(const Known& known) { return known.value && IsZero(*known.value); }

// Results that do not depend on the unknown inputs: 0 modulo a number, such as an unknown rank, and
// a part of a vector without elements.
Known Certain(const Step& step, const std::vector<Known>& inputs) {
  const std::string& op = step.node.op();
  if (op == "FloorMod" && IsKnownZero(inputs[0]) && inputs[0].value->dims() == 0 &&
      inputs[1].shape.dims() == 0) {
    return inputs[0];
  }
  if (op == "Slice" && IsKnownZero(inputs[2]) && inputs[2].value->NumElements() == 1) {
    const DataType type = TypeAttribute(step, "T");
    if (type == DT_INT32 || type == DT_INT64) return KnownValue(Integers({}, type));
  }
  return Known();
}

// Known elements of a vector that DynamicStitch makes of such sizes and others.
Known StitchedSizes(const Step& step, const std::vector<Known>& inputs) {
  const size_t count = inputs.size() / 2;
  std::vector<int64_t> stitched;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Tensor>& indices = inputs[i].value;
    const PartialTensorShape& sizes = inputs[count + i].sizes;
    if (!indices || indices->dims() != 1 || sizes.unknown_rank() ||
        sizes.dims() != indices->NumElements()) {
      return Known();
    }
    for (int k = 0; k < sizes.dims(); ++k) {
      const int64_t index = indices->flat<int32_t>()(k);
      if (index < 0 || index >= kMaxKnownElements) return Known();
      if (index >= static_cast<int64_t>(stitched.size())) {
        stitched.resize(index + 1, kUnknown);
      }
      stitched[index] = sizes.dim_size(k);
    }
  }
  return ShapeVector(PartialTensorShape(stitched), TypeAttribute(step, "T"));
}

// True if a reshape from `from` to `to` must keep the shape: all sizes but one are known and equal,
// and the number of elements stays.
bool KeepsShape(const PartialTensorShape& from, const PartialTensorShape& to) {
  if (from.unknown_rank() || to.unknown_rank() || from.dims() != to.dims()) {
    return false;
  }
  int doubtful = 0;
  bool has_elements = true;
  for (int i = 0; i < from.dims(); ++i) {
    const int64_t a = from.dim_size(i), b = to.dim_size(i);
    if (a == kUnknown || b == kUnknown) {
      ++doubtful;
    } else if (a != b) {
      return false;
    } else if (a == 0) {
      has_elements = false;
    }
  }
  return doubtful == 0 || (doubtful == 1 && has_elements);
}

bool IsSame(const PartialTensorShape& a, const PartialTensorShape& b) {
  return a.IsFullyDefined() && b.IsFullyDefined() && a.IsIdenticalTo(b);
}

bool IsReduction(const std::string& op) {
  static const auto* const ops =
      new absl::flat_hash_set<std::string>{"Max", "Mean", "Min", "Prod", "Sum"};
  return ops->contains(op);
}

}  // namespace

Known KnownValue(const Tensor& value) {
  Known known;
  known.shape = PartialTensorShape(value.shape().dim_sizes());
  known.value = value;
  if (value.dims() == 1) {
    if (value.dtype() == DT_INT32) known.sizes = ToShape<int32_t>(value);
    if (value.dtype() == DT_INT64) known.sizes = ToShape<int64_t>(value);
  }
  return known;
}

std::optional<Tensor> SmallConstant(const NodeDef& node) {
  if (node.op() != "Const") return std::nullopt;
  const auto value = node.attr().find("value");
  if (value == node.attr().end()) return std::nullopt;
  const TensorProto& proto = value->second.tensor();
  if (!TensorShape::IsValid(proto.tensor_shape()) ||
      TensorShape(proto.tensor_shape()).num_elements() > kMaxKnownElements ||
      !tensorflow::DataTypeIsNumeric(proto.dtype())) {
    return std::nullopt;
  }
  Tensor tensor;
  if (!tensor.FromProto(proto)) return std::nullopt;
  return tensor;
}

bool IsZero(const Tensor& value) {
  return value.dtype() != tensorflow::DT_STRING &&
         absl::c_all_of(value.tensor_data(), [](char byte) { return byte == 0; });
}

bool NeedsShapes(const std::string& op) {
  static const auto* const ops = new absl::flat_hash_set<std::string>{"BroadcastGradientArgs",
                                                                      "BroadcastTo",
                                                                      "DynamicStitch",
                                                                      "FloorMod",
                                                                      "Rank",
                                                                      "Reshape",
                                                                      "Shape",
                                                                      "ShapeN",
                                                                      "Size"};
  return ops->contains(op) || IsReduction(op) || TakesElements(op);
}

std::vector<Known> KnownOutputs(const Step& step, const std::vector<Known>& inputs) {
  const std::string& op = step.node.op();
  if (op == "Const") {
    const std::optional<Tensor> value = SmallConstant(step.node);
    return {value ? KnownValue(*value) : Known()};
  }
  if (op == "Shape" || op == "ShapeN") {
    std::vector<Known> outputs;
    for (const Known& input : inputs) {
      outputs.push_back(ShapeVector(input.shape, TypeAttribute(step, "out_type")));
    }
    return outputs;
  }
  if (op == "Rank") {
    if (!inputs[0].shape.unknown_rank()) return {Scalar(inputs[0].shape.dims(), DT_INT32)};
    Known rank;
    rank.shape = PartialTensorShape(std::initializer_list<int64_t>{});
    return {rank};
  }
  if (op == "Size" && inputs[0].shape.IsFullyDefined()) {
    return {Scalar(inputs[0].shape.num_elements(), TypeAttribute(step, "out_type"))};
  }
  if (op == "BroadcastGradientArgs") {
    std::vector<Known> outputs(2);
    for (int i = 0; i < 2; ++i) {
      const auto axes = SummedAxes(inputs[i].sizes, inputs[1 - i].sizes);
      if (axes) {
        outputs[i] = KnownValue(Integers(*axes, TypeAttribute(step, "T")));
      }
    }
    return outputs;
  }
  if (TakesElements(op)) {
    const Known sizes = TakenSizes(step, inputs);
    if (sizes.value || !sizes.sizes.unknown_rank()) return {sizes};
  }
  const Known certain = Certain(step, inputs);
  if (certain.value) return {certain};
  if (op == "DynamicStitch") {
    const Known sizes = StitchedSizes(step, inputs);
    if (!sizes.sizes.unknown_rank()) return {sizes};
  }
  std::vector<Tensor> values;
  for (const Known& input : inputs) {
    if (!input.value) return {};
    values.push_back(*input.value);
  }
  std::vector<Known> outputs;
  for (const Tensor& output : ComputeNow(step.node, values)) {
    outputs.push_back(KnownValue(output));
  }
  return outputs;
}

std::optional<int> EqualInput(const Step& step, const std::vector<Known>& inputs) {
  const std::string& op = step.node.op();
  if (IsReduction(op)) {
    const bool has_no_axes = inputs[1].value && inputs[1].value->NumElements() == 0;
    return has_no_axes ? std::optional<int>(0) : std::nullopt;
  }
  if (op == "Reshape" && KeepsShape(inputs[0].shape, inputs[1].sizes)) return 0;
  if (op == "BroadcastTo" && IsSame(inputs[0].shape, inputs[1].sizes)) return 0;
  return std::nullopt;
}

absl::Status FillWith(const std::vector<double>& numbers, tensorflow::Tensor* tensor) {
  switch (tensor->dtype()) {
#define CASE(T)                                          \
  case tensorflow::DataTypeToEnum<T>::value:             \
    for (size_t i = 0; i < numbers.size(); ++i) {        \
      tensor->flat<T>()(i) = static_cast<T>(numbers[i]); \
    }                                                    \
    return absl::OkStatus()
    CASE(Eigen::half);
    CASE(Eigen::bfloat16);
    CASE(float);
    CASE(double);
    CASE(tensorflow::complex64);
    CASE(tensorflow::complex128);
    CASE(bool);
    CASE(int8_t);
    CASE(uint8_t);
    CASE(int16_t);
    CASE(uint16_t);
    CASE(int32_t);
    CASE(uint32_t);
    CASE(int64_t);
    CASE(uint64_t);
#undef CASE
    default:
      return absl::FailedPreconditionError(
          absl::StrCat("a constant cannot have type ", DataTypeString(tensor->dtype())));
  }
}

}  // namespace tensorflow_ext
