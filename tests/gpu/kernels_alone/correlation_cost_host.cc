// SPDX-License-Identifier: Apache-2.0
//
// CorrelationCost's launchers on the host.

#include <cstdint>
#include <cstring>
#include <vector>

#include "tensorflow_ext/ops/correlation_cost/correlation_cost.h"

namespace tensorflow_ext {
namespace {

// Doubles, so that both compute types are aligned; as many as floats would be.
std::vector<double> Packed(NumericType type, const CorrelationCostDims& dims,
                           const void* images) {
  const int64_t pixels = dims.images * dims.image_pixels();
  std::vector<double> packed(pixels * PackedChannels(type, dims.channels));
  PackPixelsCpu(type, dims.channels, images, packed.data(), 0, pixels);
  return packed;
}

}  // namespace

int LaunchCorrelationCost(NumericType type, const CorrelationCostDims& dims,
                          const void* a, const void* b, void* output, void*) {
  if (dims.output_size() == 0) return 0;
  if (dims.input_size() == 0) {
    return DispatchFloating(type, [&](auto tag) -> int {
      std::memset(output, 0,
                  dims.output_size() * sizeof(TypeOf<decltype(tag)>));
      return 0;
    });
  }
  const std::vector<double> packed_a = Packed(type, dims, a);
  const std::vector<double> packed_b = Packed(type, dims, b);
  std::vector<double> scratch(CorrelationCostScratch(type, dims));
  CorrelationCostCpu(type, dims, packed_a.data(), packed_b.data(), output,
                     scratch.data(), 0, dims.images * dims.output_height);
  return 0;
}

int LaunchCorrelationCostGrad(NumericType type, const CorrelationCostDims& dims,
                              CorrelationArgument argument,
                              const void* gradients, const void* other,
                              void* backprops, void*) {
  if (dims.input_size() == 0) return 0;
  const std::vector<double> packed = Packed(type, dims, other);
  std::vector<double> scratch(CorrelationCostGradScratch(type, dims));
  CorrelationCostGradCpu(type, dims, argument, gradients, packed.data(),
                         backprops, scratch.data(), 0,
                         dims.images * dims.height);
  return 0;
}

}  // namespace tensorflow_ext
