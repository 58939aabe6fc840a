// CPU kernels of Fourier transforms that have none in TensorFlow, so their gradients can be tested.
// They run frequency by frequency, for small tensors.

#include <cmath>
#include <complex>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"

namespace {

using tensorflow::OpKernel;
using tensorflow::Tensor;

using Complex = std::complex<double>;

// Numbers in a tensor's order.
struct Array {
  tensorflow::TensorShape shape;
  std::vector<Complex> values;
};

// `x` with each vector v along `axis` replaced by `length` numbers: number n is the sum of
// weight(k, n) v_k.
template <typename Weight>
Array AlongAxis(const Array& x, int axis, int64_t length, Weight weight) {
  Array result{x.shape, {}};
  result.shape.set_dim(axis, length);
  const int64_t size = x.shape.dim_size(axis);
  int64_t inner = 1;
  for (int i = axis + 1; i < x.shape.dims(); ++i) inner *= x.shape.dim_size(i);
  for (int64_t i = 0; i < result.shape.num_elements(); ++i) {
    const int64_t n = i / inner % length, outer = i / inner / length;
    Complex sum = 0;
    for (int64_t k = 0; k < size; ++k) {
      sum += weight(k, n) * x.values[(outer * size + k) * inner + i % inner];
    }
    result.values.push_back(sum);
  }
  return result;
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
  explicit FourierOp(tensorflow::OpKernelConstruction* ctx)
      // "BatchIFFT", "IFFTND", "IRFFTND"
      : OpKernel(ctx), forward_(type_string().find('I') == std::string::npos) {}

  void Compute(tensorflow::OpKernelContext* ctx) override {
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
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t length = lengths[i], half = length / 2 + 1;
      const bool last = i + 1 == axes.size();
      const bool to_half = last && std::is_floating_point_v<In>;
      const bool of_half = last && std::is_floating_point_v<Out>;
      const auto weight = [&](int64_t k, int64_t n) -> Complex {
        if (k >= (of_half ? half : length)) return 0;  // cropped
        // The conjugate frequency is missing from a half: As drops its imaginary part.
        const double count = of_half && k != 0 && 2 * k != length ? 2 : 1;
        const double angle = 2 * M_PI * (k * n % length) / length;
        return forward_ ? std::polar(1.0, -angle) : std::polar(count / length, angle);
      };
      x = AlongAxis(x, axes[i], to_half ? half : length, weight);
    }
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
#define REGISTER(builder, In, Out) REGISTER_KERNEL_BUILDER(builder, FourierOp<In, Out>)
#define REGISTER_BATCH(op) REGISTER(KERNEL(op), Complex64, Complex64)
REGISTER_BATCH("BatchFFT");
REGISTER_BATCH("BatchFFT2D");
REGISTER_BATCH("BatchFFT3D");
REGISTER_BATCH("BatchIFFT");
REGISTER_BATCH("BatchIFFT2D");
REGISTER_BATCH("BatchIFFT3D");
#undef REGISTER_BATCH

#define REGISTER_ND(Real, Complex)                                                  \
  REGISTER(KERNEL("FFTND").TypeConstraint<Complex>("Tcomplex"), Complex, Complex);  \
  REGISTER(KERNEL("IFFTND").TypeConstraint<Complex>("Tcomplex"), Complex, Complex); \
  REGISTER(KERNEL("RFFTND").TypeConstraint<Complex>("Tcomplex"), Real, Complex);    \
  REGISTER(KERNEL("IRFFTND").TypeConstraint<Complex>("Tcomplex"), Complex, Real)
REGISTER_ND(float, Complex64);
REGISTER_ND(double, Complex128);
#undef REGISTER_ND
#undef REGISTER
#undef KERNEL

}  // namespace
