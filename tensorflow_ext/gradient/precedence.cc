// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/precedence.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow/core/framework/op.h"

namespace tensorflow_ext {

using tensorflow::OpRegistry;
using tensorflow::ops::GradOpRegistry;

namespace {

// The file that holds the code at `address`, or null.
const char* FileOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : nullptr;
}

}  // namespace

bool KeepsTensorFlows() {
  static const bool keeps = [] {
    const char* value = std::getenv("TFEXT_KEEP_TENSORFLOW_GRADIENTS");
    return value != nullptr && std::strcmp(value, "") != 0 &&
           std::strcmp(value, "0") != 0;
  }();
  return keeps;
}

bool IsTensorFlows(const void* code) {
  // TensorFlow is one file or two: what clients call, and the framework. Not a
  // member function's address, which need not be that of its code.
  GradOpRegistry* (*const clients)() = &GradOpRegistry::Global;
  OpRegistry* (*const framework)() = &OpRegistry::Global;
  const char* file = FileOf(code);
  for (const void* own : {reinterpret_cast<const void*>(clients),
                          reinterpret_cast<const void*>(framework)}) {
    const char* tensorflows = FileOf(own);
    if (file != nullptr && tensorflows != nullptr &&
        std::strcmp(file, tensorflows) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace tensorflow_ext
