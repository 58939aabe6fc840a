// IsFirstCopy() asks about libtensorflow_ext.so. Another op library always registers its own ops,
// so the answer is constant.

#include "tensorflow_ext/base/first_copy.h"

namespace tensorflow_ext {

bool IsFirstCopy() { return true; }

}  // namespace tensorflow_ext
