// SPDX-License-Identifier: Apache-2.0
//
// The launchers of elementwise and broadcasting kernels and of ZeroOut as plain
// C, by the functor's name: pointwise_kernels.py calls them. Types are
// NumericTypes. They return a cudaError_t as an int, 0 for success, and
// kUnknown where they launched nothing because there is no such functor or the
// shapes do not broadcast.

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/ops/activations/activations.h"
#include "tensorflow_ext/ops/floor_mod/floor_mod.h"
#include "tensorflow_ext/ops/gradient_modifiers/gradient_modifiers.h"
#include "tensorflow_ext/ops/multiply_left/multiply_left.h"
#include "tensorflow_ext/ops/snake/snake.h"
#include "tensorflow_ext/ops/zero_out/zero_out.h"

namespace tensorflow_ext {
namespace {

constexpr int kUnknown = -1;

using ElementwiseLauncher = int (*)(const float*, NumericType,
                                    const void* const*, void* const*, int64_t,
                                    void*);

// The functor of these members, in order.
template <typename Functor>
Functor FromMembers(const float* members, Functor functor) {
  if constexpr (!std::is_empty_v<Functor>) {
    static_assert(std::is_trivially_copyable_v<Functor> &&
                  sizeof(Functor) % sizeof(float) == 0);
    std::memcpy(&functor, members, sizeof(functor));
  }
  return functor;
}
template <typename First, typename Second>
Choice<First, Second> FromMembers(const float* members, Choice<First, Second>) {
  return {members[0] != 0};
}

template <typename Functor>
int LaunchElementwise(const float* attributes, NumericType type,
                      const void* const* inputs, void* const* outputs,
                      int64_t size, void* stream) {
  return GpuElementwise<Functor>::Launch(FromMembers(attributes, Functor{}),
                                         type, inputs, outputs, size, stream);
}

#define LAUNCHER(op, Functor) {#Functor, LaunchElementwise<Functor>},

// Those of the families' lists; clang-format sees no list in them.
// clang-format off
struct {
  std::string_view name;
  ElementwiseLauncher launch;
} constexpr kElementwise[] = {
    TENSORFLOW_EXT_ACTIVATIONS(LAUNCHER)
    TENSORFLOW_EXT_GRADIENT_MODIFIERS(LAUNCHER)
};
// clang-format on

using BroadcastLauncher = int (*)(NumericType, const DimensionList*,
                                  DimensionList, const void* const*,
                                  void* const*, void*);

template <typename Functor>
int LaunchBroadcast(NumericType type, const DimensionList* operands,
                    DimensionList output_shape, const void* const* inputs,
                    void* const* outputs, void* stream) {
  constexpr int kArity = Functor::kArity;
  DimensionList lists[kArity];
  for (int k = 0; k < kArity; ++k) lists[k] = operands[k];
  Broadcast<kArity> broadcast;
  if (MakeBroadcast(lists, output_shape, &broadcast) != BroadcastResult::kOk) {
    return kUnknown;
  }
  int64_t size = 1;
  for (int d = 0; d < output_shape.rank; ++d) size *= output_shape.sizes[d];
  return GpuBroadcast<Functor>::Launch(type, broadcast, inputs, outputs, size,
                                       stream);
}

struct {
  std::string_view name;
  int arity;
  BroadcastLauncher launch;
} constexpr kBroadcast[] = {
    {"FloorMod", FloorMod::kArity, LaunchBroadcast<FloorMod>},
    {"FloorModGrad", FloorModGrad::kArity, LaunchBroadcast<FloorModGrad>},
    {"MultiplyLeft", MultiplyLeft::kArity, LaunchBroadcast<MultiplyLeft>},
    {"Snake", Snake::kArity, LaunchBroadcast<Snake>},
    {"SnakeGrad", SnakeGrad::kArity, LaunchBroadcast<SnakeGrad>},
};

constexpr int kMaxArity = 3;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int Kernel_Elementwise(const char* name, const float* attributes, int32_t type,
                       const void* const* inputs, void* const* outputs,
                       int64_t size, void* stream) {
  for (const auto& entry : kElementwise) {
    if (entry.name == name) {
      return entry.launch(attributes, static_cast<NumericType>(type), inputs,
                          outputs, size, stream);
    }
  }
  return kUnknown;
}

// `ranks` are the operands' and then the outputs', `sizes` their shapes.
int Kernel_Broadcast(const char* name, int32_t type, const int32_t* ranks,
                     const int64_t* sizes, const void* const* inputs,
                     void* const* outputs, void* stream) {
  for (const auto& entry : kBroadcast) {
    if (entry.name != name) continue;
    DimensionList shapes[kMaxArity + 1];
    for (int k = 0; k <= entry.arity; ++k) {
      shapes[k] = {sizes, ranks[k]};
      sizes += ranks[k];
    }
    return entry.launch(static_cast<NumericType>(type), shapes,
                        shapes[entry.arity], inputs, outputs, stream);
  }
  return kUnknown;
}

int Kernel_ZeroOut(const void* input, void* output, int64_t kept, int64_t size,
                   void* stream) {
  return LaunchZeroOut(input, output, kept, size, stream);
}

int Kernel_Clear(void* output, int64_t size, void* stream) {
  return LaunchClear(output, size, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
