// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_BASE_FIRST_COPY_H_
#define TENSORFLOW_EXT_BASE_FIRST_COPY_H_

namespace tensorflow_ext {

// True if no other copy of this library was in the process when this one was loaded. Constant from
// then on; safe to call during static initialization.
bool IsFirstCopy();

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_BASE_FIRST_COPY_H_
