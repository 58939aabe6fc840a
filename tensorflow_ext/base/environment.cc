#include "tensorflow_ext/base/environment.h"

#include <cstdlib>
#include <cstring>

namespace tensorflow_ext {

bool IsOnInEnvironment(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::strcmp(value, "") != 0 && std::strcmp(value, "0") != 0;
}

}  // namespace tensorflow_ext
