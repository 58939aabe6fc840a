// SPDX-License-Identifier: Apache-2.0
//
// CPU kernels of the Fourier transforms for which TensorFlow has none, so that
// their gradients can be tested. They go frequency by frequency: for small
// tensors.

#include <cmath>
#include <complex>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"

namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

using Complex = std::complex<double>;

// Numbers in the order of a tensor's.
struct Array {
  TensorShape shape;
  std::vector<Complex> values;
};

// `array` with each of its vectors along `axis` replaced by `length` numbers,
// result n of a vector v being the sum of factor(k, n, v_k).
template <typename Factor>
Array AlongAxis(const Array& array, int axis, int64_t length, Factor factor) {
  Array result;
  result.shape = array.shape;
  result.shape.set_dim(axis, length);
  result.values.resize(result.shape.num_elements());
  int64_t inner = 1;
  for (int i = axis + 1; i < array.shape.dims(); ++i) {
    inner *= array.shape.dim_size(i);
  }
  const int64_t size = array.shape.dim_size(axis);
  for (int64_t i = 0; i < static_cast<int64_t>(result.values.size()); ++i) {
    const int64_t n = i / inner % length, outer = i / inner / length;
    for (int64_t k = 0; k < size; ++k) {
      const Complex x = array.values[(outer * size + k) * inner + i % inner];
      result.values[i] += factor(k, n, x);
    }
  }
  return result;
}

// exp(2 pi i k n / length), conjugated if `forward`; 0 for what is cropped.
Complex Wave(int64_t k, int64_t n, int64_t length, bool forward) {
  if (k >= length) return 0;
  return std::polar(1.0, (forward ? -2 : 2) * M_PI * (k * n % length) / length);
}

Array Transformed(const Array& x, int axis, int64_t length, bool forward) {
  const double scale = forward ? 1 : 1.0 / length;
  return AlongAxis(x, axis, length, [&](int64_t k, int64_t n, Complex value) {
    return scale * Wave(k, n, length, forward) * value;
  });
}

// The first length / 2 + 1 frequencies.
Array Halved(const Array& spectrum, int axis, int64_t length) {
  return AlongAxis(
      spectrum, axis, length / 2 + 1,
      [](int64_t k, int64_t n, Complex value) { return k == n ? value : 0; });
}

// Real numbers of those frequencies.
Array FromHalf(const Array& half, int axis, int64_t length) {
  return AlongAxis(half, axis, length,
                   [&](int64_t k, int64_t n, Complex value) {
                     if (k > length / 2) return Complex(0);
                     const double weight = (k == 0 || 2 * k == length) ? 1 : 2;
                     const Complex term = Wave(k, n, length, false) * value;
                     return Complex(weight * term.real() / length);
                   });
}

template <typename T>
T As(Complex x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x.real();
  } else {
    return T(x);
  }
}

template <typename In, typename Out>
class FourierOp : public OpKernel {
 public:
  explicit FourierOp(OpKernelConstruction* ctx)
      : OpKernel(ctx),
        forward_(type_string().find("IFFT") == std::string::npos &&
                 type_string().find("IRFFT") == std::string::npos) {}

  void Compute(OpKernelContext* ctx) override {
    const Tensor& input = ctx->input(0);
    Array x{input.shape(), {}};
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      x.values.push_back(Complex(input.flat<In>()(i)));
    }
    std::vector<int> axes;
    std::vector<int64_t> lengths;
    if (ctx->num_inputs() == 3) {
      for (int64_t i = 0; i < ctx->input(2).NumElements(); ++i) {
        const int axis = ctx->input(2).vec<int32_t>()(i);
        axes.push_back(axis < 0 ? axis + input.dims() : axis);
        lengths.push_back(ctx->input(1).vec<int32_t>()(i));
      }
    } else {  // "BatchFFT", "BatchFFT2D", "BatchFFT3D"
      const char digit = type_string()[type_string().size() - 2];
      const int rank = digit == '2' || digit == '3' ? digit - '0' : 1;
      for (int axis = input.dims() - rank; axis < input.dims(); ++axis) {
        axes.push_back(axis);
        lengths.push_back(input.dim_size(axis));
      }
    }
    constexpr bool kFromReal = std::is_floating_point_v<In>;
    constexpr bool kToReal = std::is_floating_point_v<Out>;
    const size_t whole = axes.size() - (kToReal ? 1 : 0);
    for (size_t i = 0; i < whole; ++i) {
      x = Transformed(x, axes[i], lengths[i], forward_);
    }
    if (kFromReal) x = Halved(x, axes.back(), lengths.back());
    if (kToReal) x = FromHalf(x, axes.back(), lengths.back());
    Tensor* output;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, x.shape, &output));
    for (size_t i = 0; i < x.values.size(); ++i) {
      output->flat<Out>()(i) = As<Out>(x.values[i]);
    }
  }

 private:
  const bool forward_;
};

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

#define KERNEL(op) Name(op).Device(tensorflow::DEVICE_CPU)
#define REGISTER(builder, In, Out) \
  REGISTER_KERNEL_BUILDER(builder, FourierOp<In, Out>)
#define REGISTER_BATCH(op) REGISTER(KERNEL(op), Complex64, Complex64)
REGISTER_BATCH("BatchFFT");
REGISTER_BATCH("BatchFFT2D");
REGISTER_BATCH("BatchFFT3D");
REGISTER_BATCH("BatchIFFT");
REGISTER_BATCH("BatchIFFT2D");
REGISTER_BATCH("BatchIFFT3D");
#undef REGISTER_BATCH

#define REGISTER_ND(Real, Complex)                                        \
  REGISTER(KERNEL("FFTND").TypeConstraint<Complex>("Tcomplex"), Complex,  \
           Complex);                                                      \
  REGISTER(KERNEL("IFFTND").TypeConstraint<Complex>("Tcomplex"), Complex, \
           Complex);                                                      \
  REGISTER(KERNEL("RFFTND").TypeConstraint<Complex>("Tcomplex"), Real,    \
           Complex);                                                      \
  REGISTER(KERNEL("IRFFTND").TypeConstraint<Complex>("Tcomplex"), Complex, Real)
REGISTER_ND(float, Complex64);
REGISTER_ND(double, Complex128);
#undef REGISTER_ND
#undef REGISTER
#undef KERNEL

}  // namespace
