// One binary for every x86-64. A loop is written once, as a template over an instruction set. It is
// compiled for the baseline, for AVX2 with F16C and FMA, and for AVX-512, and selected at run time.
// The compiler vectorises loops over float and double by itself, but few conversions between the
// 16-bit types and float, so these are here.
//
//   struct Loop {
//     template <typename Isa>
//     TENSORFLOW_EXT_INLINE static void Run(const Half* x, int64_t size) {
//       Isa::Widen(x, ...);
//     }
//   };
//   RunBest<Loop>(x, size);
//
// Functions that Run calls must be TENSORFLOW_EXT_INLINE too, and Run must not contain a lambda:
// neither would be compiled for the instruction set of the enclosing function. Files with such
// loops are compiled without contraction of products and sums (defs.bzl), so results do not depend
// on the machine.

#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#define TENSORFLOW_EXT_AVX2 __attribute__((target("avx2,f16c,fma")))
#define TENSORFLOW_EXT_AVX512                                    \
  __attribute__((                                                \
      target("avx2,f16c,fma,avx512f,avx512bw,avx512dq,avx512vl," \
             "prefer-vector-width=512")))
#endif

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

struct Baseline {
  // to[i] = ToCompute(from[i]) for i in [0, size). No overlap.
  template <typename T>
  TENSORFLOW_EXT_INLINE static void Widen(const T* __restrict from, float* __restrict to,
                                          int64_t size) {
    for (int64_t i = 0; i < size; ++i) to[i] = ToCompute(from[i]);
  }

  // to[i] = FromCompute<T>(from[i]) for i in [0, size). No overlap.
  template <typename T>
  TENSORFLOW_EXT_INLINE static void Narrow(const float* __restrict from, T* __restrict to,
                                           int64_t size) {
    for (int64_t i = 0; i < size; ++i) to[i] = FromCompute<T>(from[i]);
  }

  // One vector of the compute type: ToCompute(from[i]) for each i of it.
  template <typename T>
  static auto Load(const T* from) {
    using C = ComputeType<T>;
    typedef C Vector __attribute__((vector_size(16)));
    C values[16 / sizeof(C)];
    for (C& value : values) value = ToCompute(*from++);
    Vector vector;
    std::memcpy(&vector, values, sizeof(vector));
    return vector;
  }
};

// The bytes of one vector, which one instruction adds.
template <typename Isa>
constexpr int kVectorBytes = 16;

#if defined(__x86_64__)

struct Avx2 {
  TENSORFLOW_EXT_AVX2 static void Widen(const Half* from, float* to, int64_t size) {
    int64_t i = 0;
    for (; i + 8 <= size; i += 8) _mm256_storeu_ps(to + i, Load(from + i));
    for (; i < size; ++i) to[i] = _cvtsh_ss(from[i].bits);
  }
  TENSORFLOW_EXT_AVX2 static void Narrow(const float* from, Half* to, int64_t size) {
    int64_t i = 0;
    for (; i + 8 <= size; i += 8) {
      const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
    }
    for (; i < size; ++i) {
      to[i].bits = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
    }
  }

  TENSORFLOW_EXT_AVX2 static void Widen(const Bfloat16* from, float* to, int64_t size) {
    int64_t i = 0;
    for (; i + 8 <= size; i += 8) _mm256_storeu_ps(to + i, Load(from + i));
    for (; i < size; ++i) to[i] = ToCompute(from[i]);
  }
  TENSORFLOW_EXT_AVX2 static void Narrow(const float* from, Bfloat16* to, int64_t size) {
    int64_t i = 0;
    for (; i + 16 <= size; i += 16) {
      // Packing works within 128-bit lanes; the permutation undoes that.
      const __m256i packed =
          _mm256_packus_epi32(RoundToBfloat16(from + i), RoundToBfloat16(from + i + 8));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm256_permute4x64_epi64(packed, 0xd8));
    }
    for (; i < size; ++i) to[i] = FromCompute<Bfloat16>(from[i]);
  }

  TENSORFLOW_EXT_AVX2 static __m256d Load(const double* from) { return _mm256_loadu_pd(from); }
  TENSORFLOW_EXT_AVX2 static __m256 Load(const float* from) { return _mm256_loadu_ps(from); }
  TENSORFLOW_EXT_AVX2 static __m256 Load(const Half* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  TENSORFLOW_EXT_AVX2 static __m256 Load(const Bfloat16* from) {
    const __m256i low =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(low, 16));
  }

 private:
  // FromCompute<Bfloat16> of eight floats, in 32 bits each.
  TENSORFLOW_EXT_AVX2 static __m256i RoundToBfloat16(const float* from) {
    const __m256 value = _mm256_loadu_ps(from);
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i high = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff)), 16);
    const __m256i nan = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    const __m256 unordered = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    return _mm256_blendv_epi8(rounded, nan, _mm256_castps_si256(unordered));
  }
};

// As wide as the loops between conversions: a load waits if it spans two stores that have not
// reached the cache yet. Tails use Avx2.
struct Avx512 {
  // With this mask the intrinsics do the same without an undefined operand, which GCC warns about.
  static constexpr __mmask16 kAll = 0xffff;

  template <typename T>
  TENSORFLOW_EXT_AVX512 static void Widen(const T* from, float* to, int64_t size) {
    int64_t i = 0;
    for (; i + 16 <= size; i += 16) _mm512_storeu_ps(to + i, Load(from + i));
    Avx2::Widen(from + i, to + i, size - i);
  }

  template <typename T>
  TENSORFLOW_EXT_AVX512 static void Narrow(const float* from, T* to, int64_t size) {
    int64_t i = 0;
    for (; i + 16 <= size; i += 16) {
      const __m512 value = _mm512_loadu_ps(from + i);
      __m256i narrow;
      if constexpr (std::is_same_v<T, Half>) {
        narrow = _mm512_maskz_cvtps_ph(kAll, value, _MM_FROUND_TO_NEAREST_INT);
      } else {
        narrow = _mm512_maskz_cvtepi32_epi16(kAll, RoundToBfloat16(value));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), narrow);
    }
    Avx2::Narrow(from + i, to + i, size - i);
  }

  TENSORFLOW_EXT_AVX512 static __m512d Load(const double* from) { return _mm512_loadu_pd(from); }
  TENSORFLOW_EXT_AVX512 static __m512 Load(const float* from) { return _mm512_loadu_ps(from); }
  TENSORFLOW_EXT_AVX512 static __m512 Load(const Half* from) {
    return _mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  TENSORFLOW_EXT_AVX512 static __m512 Load(const Bfloat16* from) {
    const __m512i low = _mm512_maskz_cvtepu16_epi32(
        kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, low, 16));
  }

 private:
  // FromCompute<Bfloat16> of sixteen floats, in 32 bits each.
  TENSORFLOW_EXT_AVX512 static __m512i RoundToBfloat16(__m512 value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i high = _mm512_maskz_srli_epi32(kAll, bits, 16);
    const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_maskz_srli_epi32(
        kAll, _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff)), 16);
    const __m512i nan = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
    const __mmask16 unordered = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_mask_blend_epi32(unordered, rounded, nan);
  }
};

template <>
inline constexpr int kVectorBytes<Avx2> = 32;
template <>
inline constexpr int kVectorBytes<Avx512> = 64;

// The best instruction set of this machine, determined once. For tests, the environment's
// TENSORFLOW_EXT_MAX_ISA=baseline or avx2 selects a lesser one.
inline InstructionSet BestInstructionSet() {
  static const InstructionSet best = [] {
    const char* most = std::getenv("TENSORFLOW_EXT_MAX_ISA");
    if (most != nullptr && std::strcmp(most, "baseline") == 0) {
      return InstructionSet::kBaseline;
    }
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c") ||
        !__builtin_cpu_supports("fma")) {
      return InstructionSet::kBaseline;
    }
    if ((most != nullptr && std::strcmp(most, "avx2") == 0) || !__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl")) {
      return InstructionSet::kAvx2;
    }
    return InstructionSet::kAvx512;
  }();
  return best;
}

namespace internal {

template <typename Body, typename... Arguments>
TENSORFLOW_EXT_AVX2 auto RunAvx2(Arguments... arguments) {
  return Body::template Run<Avx2>(arguments...);
}

template <typename Body, typename... Arguments>
TENSORFLOW_EXT_AVX512 auto RunAvx512(Arguments... arguments) {
  return Body::template Run<Avx512>(arguments...);
}

template <typename Body, typename... Arguments>
__attribute__((noinline)) auto RunSharedBaseline(Arguments... arguments) {
  return Body::template Run<Baseline>(arguments...);
}

template <typename Body, typename... Arguments>
__attribute__((noinline)) TENSORFLOW_EXT_AVX2 auto RunSharedAvx2(Arguments... arguments) {
  return Body::template Run<Avx2>(arguments...);
}

template <typename Body, typename... Arguments>
__attribute__((noinline)) TENSORFLOW_EXT_AVX512 auto RunSharedAvx512(Arguments... arguments) {
  return Body::template Run<Avx512>(arguments...);
}

// Body::Run<Isa>(arguments...) as a separate function, for loops that already run with Isa. Loops
// over float, half and bfloat16 call the same function, so it is compiled once.
template <typename Isa, typename Body, typename... Arguments>
TENSORFLOW_EXT_INLINE auto RunShared(Arguments... arguments) {
  if constexpr (std::is_same_v<Isa, Avx512>) {
    return RunSharedAvx512<Body>(arguments...);
  } else if constexpr (std::is_same_v<Isa, Avx2>) {
    return RunSharedAvx2<Body>(arguments...);
  } else {
    return RunSharedBaseline<Body>(arguments...);
  }
}

}  // namespace internal

// Body::Run<Isa>(arguments...) in the best instruction set of this machine. Arguments go by value,
// so the compiler knows that no output overwrites them.
template <typename Body, typename... Arguments>
auto RunBest(Arguments... arguments) {
  switch (BestInstructionSet()) {
    case InstructionSet::kAvx512:
      return internal::RunAvx512<Body>(arguments...);
    case InstructionSet::kAvx2:
      return internal::RunAvx2<Body>(arguments...);
    default:
      return Body::template Run<Baseline>(arguments...);
  }
}

#else

inline InstructionSet BestInstructionSet() { return InstructionSet::kBaseline; }

template <typename Body, typename... Arguments>
auto RunBest(Arguments... arguments) {
  return Body::template Run<Baseline>(arguments...);
}

namespace internal {

template <typename Isa, typename Body, typename... Arguments>
auto RunShared(Arguments... arguments) {
  return Body::template Run<Isa>(arguments...);
}

}  // namespace internal

#endif

}  // namespace tensorflow_ext
