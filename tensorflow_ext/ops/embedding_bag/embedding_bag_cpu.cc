#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/prefetch_cpu.h"
#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/ops/embedding_bag/dot_products_cpu.h"
#include "tensorflow_ext/ops/embedding_bag/embedding_bag.h"
#include "tensorflow_ext/ops/embedding_bag/weighted_sum_cpu.h"

namespace tensorflow_ext {
namespace {

// The rows of params that a bag names, with its weights.
template <typename T, typename Index>
struct BagTerms {
  // The product of two Half numbers, with 11 bits each, is exact in float.
  static constexpr bool kExactProducts = std::is_same_v<T, Half>;

  const T* params;
  int64_t width;
  const Index* indices;
  const T* weights;

  TENSORFLOW_EXT_INLINE const T* Row(int64_t k) const { return params + indices[k] * width; }
  template <typename Isa>
  TENSORFLOW_EXT_INLINE ComputeType<T> Factor(int64_t k) const {
    return Value<Isa>(weights + k);
  }
};

template <typename T, typename Index>
struct SumBags {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(EmbeddingBagDims dims, const Index* indices,
                                        const T* params, const T* weights, T* output, int64_t begin,
                                        int64_t end) {
    using C = ComputeType<T>;
    const C scale = dims.scale<C>();
    for (int64_t bag = begin; bag < end; ++bag) {
      const BagTerms<T, Index> terms = {params, dims.width, indices + bag * dims.bag_size,
                                        weights + bag * dims.bag_size};
      WeightedSum<Isa, T, BagTerms<T, Index>>(terms, dims.bag_size, (end - bag) * dims.bag_size,
                                              dims.width, scale, output + bag * dims.width)
          .Run();
    }
  }
};

// The gradients of the bags that name a row, and their factors.
template <typename T>
struct RowTerms {
  static constexpr bool kExactProducts = false;

  const T* gradients;
  int64_t width;
  const EmbeddingBagTerm<ComputeType<T>>* terms;

  TENSORFLOW_EXT_INLINE const T* Row(int64_t k) const { return gradients + terms[k].bag * width; }
  template <typename Isa>
  TENSORFLOW_EXT_INLINE ComputeType<T> Factor(int64_t k) const {
    return terms[k].factor;
  }
};

template <typename T>
struct SumRows {
  using Term = EmbeddingBagTerm<ComputeType<T>>;

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(EmbeddingBagDims dims, const T* gradients,
                                        const int64_t* ends, const Term* terms, T* backprops,
                                        int64_t begin, int64_t end) {
    const int64_t last = FirstRowFrom(dims, ends, end);
    for (int64_t row = FirstRowFrom(dims, ends, begin); row < last; ++row) {
      const int64_t first = row == 0 ? 0 : ends[row - 1];
      T* output = backprops + row * dims.width;
      if (first == ends[row]) {
        std::fill_n(output, dims.width, T{});
        continue;
      }
      const RowTerms<T> of_row = {gradients, dims.width, terms + first};
      WeightedSum<Isa, T, RowTerms<T>>(of_row, ends[row] - first, dims.positions() - first,
                                       dims.width, 1, output)
          .Run();
    }
  }

  // The first row whose first unit of work is at `unit` or later.
  static int64_t FirstRowFrom(const EmbeddingBagDims& dims, const int64_t* ends, int64_t unit) {
    int64_t low = 0, high = dims.rows;
    while (low < high) {
      const int64_t row = low + (high - low) / 2;
      if (row + (row == 0 ? 0 : ends[row - 1]) < unit) {
        low = row + 1;
      } else {
        high = row;
      }
    }
    return low;
  }
};

template <typename T, typename Index>
struct DotBags {
  using C = ComputeType<T>;
  static constexpr int64_t kLanes = kDotLanes<C>;
  static constexpr int64_t kBlock = 64;  // elements that are converted together

  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(EmbeddingBagDims dims, const T* gradients,
                                        const Index* indices, const T* params, T* backprops,
                                        int64_t begin, int64_t end) {
    const C scale = dims.scale<C>();
    for (int64_t bag = begin; bag < end; ++bag) {
      const Index* index = indices + bag * dims.bag_size;
      for (int64_t l = 0; l < dims.bag_size; l += kMaxDots) {
        const int count = static_cast<int>(std::min<int64_t>(kMaxDots, dims.bag_size - l));
        const T* rows[kMaxDots];
        for (int r = 0; r < count; ++r) {
          rows[r] = params + index[l + r] * dims.width;
          Prefetch(rows[r], std::min(dims.width, 2 * kBlock));
        }
        DotSums<C> sums;
        ClearDots(count, &sums);
        AddRows<Isa>(gradients + bag * dims.width, rows, count, dims.width, &sums);
        C dots[kMaxDots];
        FinishDots<Isa>(sums, count, dots);
        for (int r = 0; r < count; ++r) dots[r] *= scale;
        Store<Isa>(dots, count, backprops + bag * dims.bag_size + l);
      }
    }
  }

 private:
  // Goes through blocks padded with zeros for values to convert and for the few elements after the
  // last full lanes, because AddDots cannot take them.
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void AddRows(const T* x, const T* const* rows, int count,
                                            int64_t width, DotSums<C>* sums) {
    int64_t done = 0;
    if constexpr (std::is_same_v<T, C>) {
      done = width / kLanes * kLanes;
      AddDots<Isa>(x, rows, count, done, sums);
    }
    C block[(1 + kMaxDots) * kBlock];
    const C* block_rows[kMaxDots];
    for (int r = 0; r < count; ++r) block_rows[r] = block + (1 + r) * kBlock;
    for (; done < width; done += kBlock) {
      const int64_t size = std::min(kBlock, width - done);
      const int64_t filled = (size + kLanes - 1) / kLanes * kLanes;
      for (int r = -1; r < count; ++r) {
        const T* values = (r < 0 ? x : rows[r]) + done;
        C* to = block + (1 + r) * kBlock;
        if constexpr (std::is_same_v<T, C>) {
          for (int64_t i = 0; i < size; ++i) to[i] = values[i];
        } else {
          Isa::Widen(values, to, size);
        }
        for (int64_t i = size; i < filled; ++i) to[i] = 0;
      }
      AddDots<Isa>(block, block_rows, count, filled, sums);
    }
  }
};

template <typename Index>
struct FindWrong {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static bool Run(const Index* indices, int64_t size, int64_t rows) {
    bool wrong = false;
    for (int64_t i = 0; i < size; ++i) wrong |= !IsRow(indices[i], rows);
    return wrong;
  }
};

}  // namespace

int64_t FirstWrongIndex(NumericType index_type, const EmbeddingBagDims& dims, const void* indices,
                        int64_t begin, int64_t end) {
  const auto find = [&](auto tag) -> int64_t {
    using Index = TypeOf<decltype(tag)>;
    const Index* index = static_cast<const Index*>(indices);
    if (!RunBest<FindWrong<Index>>(index + begin, end - begin, dims.rows)) {
      return -1;
    }
    while (IsRow(index[begin], dims.rows)) ++begin;
    return begin;
  };
  return index_type == NumericType::kInt64 ? find(TypeTag<int64_t>{}) : find(TypeTag<int32_t>{});
}

int64_t IndexAt(NumericType index_type, const void* indices, int64_t position) {
  return index_type == NumericType::kInt64 ? static_cast<const int64_t*>(indices)[position]
                                           : static_cast<const int32_t*>(indices)[position];
}

void EmbeddingBagCpu(NumericType type, NumericType index_type, const EmbeddingBagDims& dims,
                     const void* indices, const void* params, const void* weights, void* output,
                     int64_t begin, int64_t end) {
  DispatchIndexed(type, index_type, [&](auto tag, auto index_tag) {
    using T = TypeOf<decltype(tag)>;
    using Index = TypeOf<decltype(index_tag)>;
    RunBest<SumBags<T, Index>>(dims, static_cast<const Index*>(indices),
                               static_cast<const T*>(params), static_cast<const T*>(weights),
                               static_cast<T*>(output), begin, end);
  });
}

void EmbeddingBagWeightsGradCpu(NumericType type, NumericType index_type,
                                const EmbeddingBagDims& dims, const void* gradients,
                                const void* indices, const void* params, void* backprops,
                                int64_t begin, int64_t end) {
  DispatchIndexed(type, index_type, [&](auto tag, auto index_tag) {
    using T = TypeOf<decltype(tag)>;
    using Index = TypeOf<decltype(index_tag)>;
    RunBest<DotBags<T, Index>>(dims, static_cast<const T*>(gradients),
                               static_cast<const Index*>(indices), static_cast<const T*>(params),
                               static_cast<T*>(backprops), begin, end);
  });
}

int64_t EmbeddingBagTermBytes(NumericType type) {
  return DispatchFloating(type, [](auto tag) -> int64_t {
    return sizeof(EmbeddingBagTerm<ComputeType<TypeOf<decltype(tag)>>>);
  });
}

void SortEmbeddingBagTerms(NumericType type, NumericType index_type, const EmbeddingBagDims& dims,
                           const void* indices, const void* weights, int64_t* ends, void* terms) {
  DispatchIndexed(type, index_type, [&](auto tag, auto index_tag) {
    using T = TypeOf<decltype(tag)>;
    using C = ComputeType<T>;
    using Index = TypeOf<decltype(index_tag)>;
    const Index* index = static_cast<const Index*>(indices);
    const T* weight = static_cast<const T*>(weights);
    EmbeddingBagTerm<C>* term = static_cast<EmbeddingBagTerm<C>*>(terms);
    const C scale = dims.scale<C>();
    // Counts positions, finds each row's begin, then moves it to the row's end.
    std::fill_n(ends, dims.rows, 0);
    for (int64_t i = 0; i < dims.positions(); ++i) ++ends[index[i]];
    int64_t begin = 0;
    for (int64_t row = 0; row < dims.rows; ++row) {
      const int64_t count = ends[row];
      ends[row] = begin;
      begin += count;
    }
    for (int64_t bag = 0; bag < dims.bags; ++bag) {
      for (int64_t l = 0; l < dims.bag_size; ++l, ++index, ++weight) {
        term[ends[*index]++] = {bag, ToCompute(*weight) * scale};
      }
    }
  });
}

void EmbeddingBagParamsGradCpu(NumericType type, const EmbeddingBagDims& dims,
                               const void* gradients, const int64_t* ends, const void* terms,
                               void* backprops, int64_t begin, int64_t end) {
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    RunBest<SumRows<T>>(dims, static_cast<const T*>(gradients), ends,
                        static_cast<const EmbeddingBagTerm<ComputeType<T>>*>(terms),
                        static_cast<T*>(backprops), begin, end);
  });
}

}  // namespace tensorflow_ext
