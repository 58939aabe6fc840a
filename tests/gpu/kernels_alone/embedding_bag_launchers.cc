// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/embedding_bag/embedding_bag.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {

EXPORT_LAUNCHER(EmbeddingBag, LaunchEmbeddingBag)
EXPORT_LAUNCHER(EmbeddingBagParamsGrad, LaunchEmbeddingBagParamsGrad)
EXPORT_LAUNCHER(EmbeddingBagWeightsGrad, LaunchEmbeddingBagWeightsGrad)

}  // namespace tensorflow_ext
