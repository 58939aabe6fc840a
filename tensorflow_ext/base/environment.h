#pragma once

namespace tensorflow_ext {

// True if an environment variable is set to anything but 0 or the empty string.
bool IsOnInEnvironment(const char* variable);

}  // namespace tensorflow_ext
