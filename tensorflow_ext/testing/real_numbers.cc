#include "tensorflow_ext/testing/real_numbers.h"

#include <complex>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DataType;
using tensorflow::Tensor;

// Calls `use` with a null pointer to the real type of a type with a gradient.
template <typename Use>
void ForRealType(DataType dtype, Use use) {
  switch (dtype) {
    case tensorflow::DT_HALF:
      return use(static_cast<Eigen::half*>(nullptr));
    case tensorflow::DT_BFLOAT16:
      return use(static_cast<tensorflow::bfloat16*>(nullptr));
    case tensorflow::DT_FLOAT:
    case tensorflow::DT_COMPLEX64:
      return use(static_cast<float*>(nullptr));
    default:
      return use(static_cast<double*>(nullptr));
  }
}

bool IsComplex(DataType dtype) { return tensorflow::DataTypeIsComplex(dtype); }

int64_t Count(const Tensor& tensor) {
  return tensor.NumElements() * (IsComplex(tensor.dtype()) ? 2 : 1);
}

}  // namespace

bool HasGradient(DataType dtype) {
  return dtype == tensorflow::DT_HALF || dtype == tensorflow::DT_BFLOAT16 ||
         dtype == tensorflow::DT_FLOAT || dtype == tensorflow::DT_DOUBLE || IsComplex(dtype);
}

DataType Widened(DataType dtype) {
  if (!HasGradient(dtype)) return dtype;
  return IsComplex(dtype) ? tensorflow::DT_COMPLEX128 : tensorflow::DT_DOUBLE;
}

double Spacing(DataType dtype) {
  double spacing = 0;
  ForRealType(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    spacing = static_cast<double>(Eigen::NumTraits<T>::epsilon());
  });
  return spacing;
}

Numbers ToNumbers(const Tensor& tensor) {
  Numbers numbers(Count(tensor));
  ForRealType(tensor.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* from = static_cast<const T*>(tensor.data());
    for (double& number : numbers) number = static_cast<double>(*from++);
  });
  return numbers;
}

Tensor ToTensor(const Numbers& numbers, const Tensor& like) {
  Tensor tensor(like.dtype(), like.shape());
  ForRealType(like.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T* to = static_cast<T*>(tensor.data());
    for (double number : numbers) *to++ = static_cast<T>(number);
  });
  return tensor;
}

Tensor Widen(const Tensor& tensor) {
  if (!HasGradient(tensor.dtype())) return tensor;
  return ToTensor(ToNumbers(tensor), Tensor(Widened(tensor.dtype()), tensor.shape()));
}

std::string IndexOf(int64_t position, const Tensor& tensor) {
  std::string part;
  if (IsComplex(tensor.dtype())) {
    part = position % 2 ? "(imaginary)" : "(real)";
    position /= 2;
  }
  if (tensor.dims() == 0) return part.empty() ? "scalar" : part;
  std::vector<int64_t> index(tensor.dims());
  for (int d = tensor.dims() - 1; d >= 0; --d) {
    index[d] = position % tensor.dim_size(d);
    position /= tensor.dim_size(d);
  }
  return absl::StrCat("[", absl::StrJoin(index, ", "), "]", part.empty() ? "" : " ", part);
}

}  // namespace tensorflow_ext
