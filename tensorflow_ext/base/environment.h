// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_BASE_ENVIRONMENT_H_
#define TENSORFLOW_EXT_BASE_ENVIRONMENT_H_

namespace tensorflow_ext {

// Whether a variable of the environment is set to anything but 0 or nothing.
bool IsOnInEnvironment(const char* variable);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_BASE_ENVIRONMENT_H_
