// Ops that take a serialized graph and names of its tensors, and give nodes to add. A graph is one
// string, [], or its bytes as uint8, [n].

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/tstring.h"
#include "tensorflow_ext/kernels/argument_shape.h"

namespace tensorflow_ext {

inline constexpr char kVector[] = "a vector, [n]";

template <typename T>
struct Bytes;

template <>
struct Bytes<tensorflow::tstring> {
  static constexpr int kRank = 0;
  static constexpr const char* kShape = kScalar;
  static absl::string_view Read(const tensorflow::Tensor& tensor) {
    return tensor.scalar<tensorflow::tstring>()();
  }
  static tensorflow::TensorShape ShapeOf(const std::string&) { return {}; }
  static void Write(const std::string& bytes, tensorflow::Tensor* tensor) {
    tensor->scalar<tensorflow::tstring>()() = bytes;
  }
};

template <>
struct Bytes<uint8_t> {
  static constexpr int kRank = 1;
  static constexpr const char* kShape = kVector;
  static absl::string_view Read(const tensorflow::Tensor& tensor) {
    return absl::string_view(tensor.tensor_data().data(), tensor.NumElements());
  }
  static tensorflow::TensorShape ShapeOf(const std::string& bytes) {
    return {static_cast<int64_t>(bytes.size())};
  }
  static void Write(const std::string& bytes, tensorflow::Tensor* tensor) {
    std::copy(bytes.begin(), bytes.end(), tensor->vec<uint8_t>().data());
  }
};

// Infers the shapes of inputs 0, `graph_def`, and 1, the names, and sets that of output 0, the
// nodes.
inline absl::Status InferGraphAndNames(tensorflow::shape_inference::InferenceContext* c,
                                       const char* op, const char* argument,
                                       tensorflow::shape_inference::ShapeHandle* names) {
  tensorflow::DataType type;
  TF_RETURN_IF_ERROR(c->GetAttr("T", &type));
  const bool is_string = type == tensorflow::DT_STRING;
  tensorflow::shape_inference::ShapeHandle graph_def;
  TF_RETURN_IF_ERROR(InferRank(c, op, "graph_def", 0, is_string ? 0 : 1,
                               is_string ? kScalar : kVector, &graph_def));
  c->set_output(0, is_string ? c->Scalar() : c->Vector(c->UnknownDim()));
  return InferRank(c, op, argument, 1, 1, kVector, names);
}

// The same checks of the inputs of a kernel.
template <typename T>
absl::Status CheckGraphAndNames(const char* op, const char* argument,
                                const tensorflow::OpKernelContext& context) {
  TF_RETURN_IF_ERROR(
      CheckRank(op, "graph_def", context.input(0).shape(), Bytes<T>::kRank, Bytes<T>::kShape));
  return CheckRank(op, argument, context.input(1).shape(), 1, kVector);
}

// Registers the kernel for both forms of a graph.
#define REGISTER_GRAPH_KERNEL(op, Kernel)                                                       \
  REGISTER_KERNEL_BUILDER(                                                                      \
      Name(op).Device(tensorflow::DEVICE_CPU).TypeConstraint<tensorflow::tstring>("T"),         \
      Kernel<tensorflow::tstring>);                                                             \
  REGISTER_KERNEL_BUILDER(Name(op).Device(tensorflow::DEVICE_CPU).TypeConstraint<uint8_t>("T"), \
                          Kernel<uint8_t>)

inline std::vector<std::string> Names(const tensorflow::Tensor& names) {
  const auto values = names.vec<tensorflow::tstring>();
  return {values.data(), values.data() + values.size()};
}

inline absl::Status Prefixed(const char* op, const absl::Status& status) {
  if (status.ok()) return status;
  return tensorflow::errors::CreateWithUpdatedMessage(status,
                                                      absl::StrCat(op, ": ", status.message()));
}

template <typename T>
absl::Status WriteGraphDef(const tensorflow::GraphDef& nodes,
                           tensorflow::OpKernelContext* context) {
  // The same bytes for the same graph: by default the order of attributes differs.
  std::string bytes;
  if (!tensorflow::SerializeToStringDeterministic(nodes, &bytes)) {
    return absl::ResourceExhaustedError("the nodes to add are larger than 2 GB");
  }
  tensorflow::Tensor* output = nullptr;
  TF_RETURN_IF_ERROR(context->allocate_output(0, Bytes<T>::ShapeOf(bytes), &output));
  Bytes<T>::Write(bytes, output);
  return absl::OkStatus();
}

inline absl::Status WriteName(int output, const std::string& name,
                              tensorflow::OpKernelContext* context) {
  tensorflow::Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(context->allocate_output(output, {}, &tensor));
  tensor->scalar<tensorflow::tstring>()() = name;
  return absl::OkStatus();
}

inline absl::Status WriteNames(int output, const std::vector<std::string>& names,
                               tensorflow::OpKernelContext* context) {
  tensorflow::Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(
      context->allocate_output(output, {static_cast<int64_t>(names.size())}, &tensor));
  std::copy(names.begin(), names.end(), tensor->vec<tensorflow::tstring>().data());
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
