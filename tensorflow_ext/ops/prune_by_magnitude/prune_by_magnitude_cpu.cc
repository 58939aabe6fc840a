#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/ops/prune_by_magnitude/prune_by_magnitude.h"

namespace tensorflow_ext {

template struct CpuElementwise<PruneByMagnitude>;
template struct CpuElementwise<PruneByMagnitudeGrad>;

}  // namespace tensorflow_ext
