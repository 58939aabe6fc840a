// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_LAUNCHERS_H_
#define TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_LAUNCHERS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tensorflow_ext {

// The sizes of a problem from its members, in order, as a caller in Python has
// them.
template <typename Dims>
Dims FromMembers(const int64_t* members) {
  static_assert(std::is_trivially_copyable_v<Dims> &&
                sizeof(Dims) % sizeof(int64_t) == 0);
  Dims dims;
  std::memcpy(&dims, members, sizeof(dims));
  return dims;
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_TESTS_GPU_KERNELS_ALONE_LAUNCHERS_H_
