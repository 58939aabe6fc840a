// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/ops/rrelu/rrelu.h"
#include "tests/gpu/kernels_alone/launchers.h"

namespace tensorflow_ext {

EXPORT_LAUNCHER(Rrelu, LaunchRrelu)

}  // namespace tensorflow_ext
