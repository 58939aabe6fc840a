#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tensorflow_ext/ops/prune_by_magnitude/prune_by_magnitude.h"

namespace tensorflow_ext {

template struct GpuElementwise<PruneByMagnitude>;
template struct GpuElementwise<PruneByMagnitudeGrad>;

}  // namespace tensorflow_ext
