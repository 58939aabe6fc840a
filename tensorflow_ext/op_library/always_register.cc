// SPDX-License-Identifier: Apache-2.0
//
// IsFirstCopy() asks about libtensorflow_ext.so. In the library of somebody
// else there is nothing to ask: what it registers is its own.

#include "tensorflow_ext/base/first_copy.h"

namespace tensorflow_ext {

bool IsFirstCopy() { return true; }

}  // namespace tensorflow_ext
