// The launchers of elementwise and broadcasting kernels by the op's name, and those of ZeroOut.
// They return kUnknown without a launch if there is no such op or the shapes do not broadcast.

#include <cstdint>
#include <string_view>

#include "tensorflow_ext/kernels/broadcast.h"
#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/ops/functors.h"
#include "tensorflow_ext/ops/prune_by_magnitude/prune_by_magnitude.h"
#include "tensorflow_ext/ops/zero_out/zero_out.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {
namespace {

constexpr int kUnknown = -1;

using ElementwiseLauncher = int (*)(const void*, NumericType, const void* const*, void* const*,
                                    int64_t, void*);

template <typename Functor>
int LaunchElementwise(const void* functor, NumericType type, const void* const* inputs,
                      void* const* outputs, int64_t size, void* stream) {
  return GpuElementwise<Functor>::Launch(*static_cast<const Functor*>(functor), type, inputs,
                                         outputs, size, stream);
}

using BroadcastLauncher = int (*)(NumericType, const DimensionList*, DimensionList,
                                  const void* const*, void* const*, void*);

template <typename Functor>
int LaunchBroadcast(NumericType type, const DimensionList* operands, DimensionList output_shape,
                    const void* const* inputs, void* const* outputs, void* stream) {
  constexpr int kArity = Functor::kArity;
  DimensionList lists[kArity];
  for (int k = 0; k < kArity; ++k) lists[k] = operands[k];
  Broadcast<kArity> broadcast;
  if (MakeBroadcast(lists, output_shape, &broadcast) != BroadcastResult::kOk) {
    return kUnknown;
  }
  int64_t size = 1;
  for (int d = 0; d < output_shape.rank; ++d) size *= output_shape.sizes[d];
  return GpuElementwise<Functor>::Launch(type, broadcast, inputs, outputs, size, stream);
}

// An op has one launcher, by its functor's kind.
struct Entry {
  std::string_view op;
  int arity;
  ElementwiseLauncher elementwise;
  BroadcastLauncher broadcast;
};

template <typename Functor>
constexpr Entry EntryOf(std::string_view op) {
  if constexpr (kBroadcasts<Functor>) {
    return {op, Functor::kArity, nullptr, LaunchBroadcast<Functor>};
  } else {
    return {op, Functor::kArity, LaunchElementwise<Functor>, nullptr};
  }
}

#define ENTRY(op, Functor) EntryOf<Functor>(op),

constexpr Entry kEntries[] = {EntryOf<PruneByMagnitude>("TfExt>PruneByMagnitude"),
                              EntryOf<PruneByMagnitudeGrad>("TfExt>PruneByMagnitudeGrad"),
                              TENSORFLOW_EXT_FUNCTORS(ENTRY)};

constexpr int kMaxArity = 3;

// `functor` has the functor's members.
int LaunchElementwiseByName(const char* name, const void* functor, NumericType type,
                            const void* const* inputs, void* const* outputs, int64_t size,
                            void* stream) {
  for (const Entry& entry : kEntries) {
    if (entry.op == name && entry.elementwise != nullptr) {
      return entry.elementwise(functor, type, inputs, outputs, size, stream);
    }
  }
  return kUnknown;
}

// `ranks` are the operands' and then the outputs', `sizes` their shapes.
int LaunchBroadcastByName(const char* name, NumericType type, const int64_t* ranks,
                          const int64_t* sizes, const void* const* inputs, void* const* outputs,
                          void* stream) {
  for (const Entry& entry : kEntries) {
    if (entry.op != name || entry.broadcast == nullptr) continue;
    DimensionList shapes[kMaxArity + 1];
    for (int k = 0; k <= entry.arity; ++k) {
      shapes[k] = {sizes, static_cast<int>(ranks[k])};
      sizes += ranks[k];
    }
    return entry.broadcast(type, shapes, shapes[entry.arity], inputs, outputs, stream);
  }
  return kUnknown;
}

}  // namespace

EXPORT_LAUNCHER(Elementwise, LaunchElementwiseByName)
EXPORT_LAUNCHER(Broadcast, LaunchBroadcastByName)
EXPORT_LAUNCHER(ZeroOut, LaunchZeroOut)
EXPORT_LAUNCHER(Clear, LaunchZeroOutWhole)

}  // namespace tensorflow_ext
