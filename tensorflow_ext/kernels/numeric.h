// The numeric types of the kernels, without TensorFlow headers, for both the host compiler and
// nvcc. A kernel reads a storage type, computes in its compute type and rounds once when it stores:
//
//   y[i] = FromCompute<T>(f(ToCompute(x[i])));

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define TENSORFLOW_EXT_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TENSORFLOW_EXT_HOST_DEVICE TENSORFLOW_EXT_INLINE
#endif

// For loops that are compiled for several instruction sets: the functions that they call must be
// inlined into each of them.
#define TENSORFLOW_EXT_INLINE inline __attribute__((always_inline))

namespace tensorflow_ext {

// IEEE 754 binary16 and bfloat16, with their layout in memory.
struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

enum class NumericType : int32_t {
  kHalf,
  kBfloat16,
  kFloat,
  kDouble,
  kInt32,
  kInt64,
};

// The type that a kernel computes in: float for the 16-bit types, else T.
template <typename T>
struct ComputeTypeOf {
  using type = T;
};
template <>
struct ComputeTypeOf<Half> {
  using type = float;
};
template <>
struct ComputeTypeOf<Bfloat16> {
  using type = float;
};
template <typename T>
using ComputeType = typename ComputeTypeOf<T>::type;

namespace internal {

template <typename To, typename From>
TENSORFLOW_EXT_HOST_DEVICE To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "BitCast keeps the size");
  static_assert(std::is_arithmetic_v<To> && std::is_arithmetic_v<From>,
                "a class in the place of a number brings its own functions");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

// The host conversions avoid subnormal floats, because TensorFlow's threads flush those to zero,
// and a subnormal half is an ordinary float. Loops over many values are faster through simd.h.

TENSORFLOW_EXT_INLINE float HalfToFloat(uint16_t half) {
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t bits = magnitude + ((127 - 15) << 23);  // Exponent bias 15 to 127.
  if (magnitude >= (31 << 23)) {
    bits = magnitude + ((255 - 31) << 23);  // Infinity and NaN.
  } else if (magnitude < (1 << 23)) {
    // Subnormal m * 2^-24: m below the leading one of 2^-14, less 2^-14.
    const float shifted = BitCast<float>(magnitude + (113 << 23));
    bits = BitCast<uint32_t>(shifted - BitCast<float>(113 << 23));
  }
  return BitCast<float>(bits | sign);
}

// Rounds to nearest, ties to even. NaN becomes a quiet NaN.
TENSORFLOW_EXT_INLINE uint16_t FloatToHalf(float value) {
  const uint32_t bits = BitCast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t half;
  if (magnitude > 0x7f800000) {
    half = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  } else if (magnitude >= (143u << 23)) {  // From 2^16 on.
    half = 0x7c00;
  } else if (magnitude >= (113u << 23)) {  // From 2^-14 on: normal.
    // Exponent bias 127 to 15; rounding up may carry into the exponent.
    const uint32_t odd = (magnitude >> 13) & 1;
    half = (magnitude - ((127 - 15) << 23) + 0xfff + odd) >> 13;
  } else {
    // Adding 0.5 makes the float adder round at the bit of 2^-24.
    const float rounded = BitCast<float>(magnitude) + 0.5f;
    half = BitCast<uint32_t>(rounded) - (126 << 23);
  }
  return static_cast<uint16_t>(half | sign);
}

TENSORFLOW_EXT_INLINE uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = BitCast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40;
  return static_cast<uint16_t>(value != value ? nan : rounded);
}

}  // namespace internal

// A stored value in its compute type; the conversion is exact.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T ToCompute(T value) {
  return value;
}
TENSORFLOW_EXT_HOST_DEVICE float ToCompute(Half value) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(value.bits));
#else
  return internal::HalfToFloat(value.bits);
#endif
}
TENSORFLOW_EXT_HOST_DEVICE float ToCompute(Bfloat16 value) {
  return internal::BitCast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// A computed value in its storage type, rounded to nearest, ties to even. Overflow gives infinity.
// NaN stays NaN; its payload may differ by device.
template <typename T>
struct FromComputeTo {
  TENSORFLOW_EXT_HOST_DEVICE static T Round(T value) { return value; }
};
template <>
struct FromComputeTo<Half> {
  TENSORFLOW_EXT_HOST_DEVICE static Half Round(float value) {
#if defined(__CUDA_ARCH__)
    return {__half_as_ushort(__float2half_rn(value))};
#else
    return {internal::FloatToHalf(value)};
#endif
  }
};
template <>
struct FromComputeTo<Bfloat16> {
  TENSORFLOW_EXT_HOST_DEVICE static Bfloat16 Round(float value) {
#if defined(__CUDA_ARCH__)
    return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
    return {internal::FloatToBfloat16(value)};
#endif
  }
};
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE T FromCompute(ComputeType<T> value) {
  return FromComputeTo<T>::Round(value);
}

// Names a type to a generic lambda: `[&](auto tag) { using T = TypeOf<...>; }`.
template <typename T>
struct TypeTag {
  using type = T;
};
template <typename Tag>
using TypeOf = typename Tag::type;

// Calls `fn(TypeTag<T>{})` with the floating-point type named by `type`. Integer types do not
// occur: the op's definition does not admit them.
template <typename Fn>
auto DispatchFloating(NumericType type, Fn&& fn) {
  switch (type) {
    case NumericType::kHalf:
      return fn(TypeTag<Half>{});
    case NumericType::kBfloat16:
      return fn(TypeTag<Bfloat16>{});
    case NumericType::kDouble:
      return fn(TypeTag<double>{});
    default:
      return fn(TypeTag<float>{});
  }
}

// The same for all types.
template <typename Fn>
auto DispatchNumeric(NumericType type, Fn&& fn) {
  switch (type) {
    case NumericType::kInt32:
      return fn(TypeTag<int32_t>{});
    case NumericType::kInt64:
      return fn(TypeTag<int64_t>{});
    default:
      return DispatchFloating(type, fn);
  }
}

}  // namespace tensorflow_ext
