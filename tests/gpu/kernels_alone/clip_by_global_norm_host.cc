// SPDX-License-Identifier: Apache-2.0
//
// ClipByGlobalNorm's launchers on the host.

#include <algorithm>
#include <cstdint>

#include "tensorflow_ext/ops/clip_by_global_norm/clip_by_global_norm.h"

namespace tensorflow_ext {
namespace {

int64_t SizeOf(NumericType type) {
  return DispatchFloating(
      type, [](auto tag) -> int64_t { return sizeof(TypeOf<decltype(tag)>); });
}

GlobalNorm SumAll(NumericType type, const ClipTensors& tensors,
                  NormSums* sums) {
  NormSums total = {};
  for (int64_t t = 0; t < tensors.count; ++t) {
    for (int64_t i = 0; i < tensors.sizes[t]; i += kUnitSize, ++sums) {
      const int64_t offset = i * SizeOf(type);
      const char* values = static_cast<const char*>(tensors.values[t]) + offset;
      const char* gradients = nullptr;
      if (tensors.gradients != nullptr) {
        gradients = static_cast<const char*>(tensors.gradients[t]) + offset;
      }
      *sums = NormSumsCpu(type, values, gradients,
                          std::min(kUnitSize, tensors.sizes[t] - i));
      AddUnit(*sums, &total);
    }
  }
  return ToGlobalNorm(total);
}

template <typename T>
void Store(double value, void* output) {
  *static_cast<T*>(output) = FromCompute<T>(static_cast<ComputeType<T>>(value));
}

}  // namespace

int LaunchClipByGlobalNorm(NumericType type, const ClipTensors& tensors,
                           double clip_norm, NormSums* sums,
                           ClipGradFactors* factors, void* norm, void*) {
  const GlobalNorm global = SumAll(type, tensors, sums);
  *factors = {ClipScale(global.norm, clip_norm), 0, 0};
  for (int64_t t = 0; t < tensors.count; ++t) {
    ScaleValuesCpu(type, tensors.values[t], factors->scale, tensors.outputs[t],
                   tensors.sizes[t]);
  }
  DispatchFloating(
      type, [&](auto tag) { Store<TypeOf<decltype(tag)>>(global.norm, norm); });
  return 0;
}

int LaunchClipByGlobalNormGrad(NumericType type, const ClipTensors& tensors,
                               const void* norm_gradient, double clip_norm,
                               NormSums* sums, ClipGradFactors* factors,
                               void* clip_norm_backprop, void*) {
  const GlobalNorm global = SumAll(type, tensors, sums);
  DispatchFloating(type, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    *factors = ClipGrad(global, clip_norm,
                        ToCompute(*static_cast<const T*>(norm_gradient)));
    Store<T>(factors->clip_norm, clip_norm_backprop);
  });
  for (int64_t t = 0; t < tensors.count; ++t) {
    ClipGradValuesCpu(type, tensors.gradients[t], tensors.values[t], *factors,
                      tensors.outputs[t], tensors.sizes[t]);
  }
  return 0;
}

}  // namespace tensorflow_ext
