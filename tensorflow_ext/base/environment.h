// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_BASE_ENVIRONMENT_H_
#define TENSORFLOW_EXT_BASE_ENVIRONMENT_H_

namespace tensorflow_ext {

// True if an environment variable is set to anything but 0 or the empty string.
bool IsOnInEnvironment(const char* variable);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_BASE_ENVIRONMENT_H_
