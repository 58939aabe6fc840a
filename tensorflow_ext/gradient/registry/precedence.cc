#include "tensorflow_ext/gradient/registry/precedence.h"

#include <link.h>

#include <cstdint>

#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/base/environment.h"

namespace tensorflow_ext {

using tensorflow::OpRegistry;
using tensorflow::ops::GradOpRegistry;

namespace {

// A pointer that identifies the loaded file with the code at `address`; null if there is none.
// dladdr() would also look for the symbol: 2 ms a call in a file as large as TensorFlow's.
const void* FileOf(const void* address) {
  struct Search {
    uintptr_t address;
    const void* found;
  } search = {reinterpret_cast<uintptr_t>(address), nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* file, size_t, void* data) {
        auto* search = static_cast<Search*>(data);
        for (int i = 0; i < file->dlpi_phnum; ++i) {
          const auto& segment = file->dlpi_phdr[i];
          const uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && search->address >= begin &&
              search->address < begin + segment.p_memsz) {
            search->found = file->dlpi_phdr;
          }
        }
        return search->found != nullptr ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace

bool KeepsTensorFlows() {
  static const bool keeps = IsOnInEnvironment("TFEXT_KEEP_TENSORFLOW_GRADIENTS");
  return keeps;
}

bool IsTensorFlows(const void* code) {
  // TensorFlow is one file or two: the client interface and the framework. The address of a member
  // function would not do: it need not be that of its code.
  GradOpRegistry* (*const clients)() = &GradOpRegistry::Global;
  OpRegistry* (*const framework)() = &OpRegistry::Global;
  static const void* const own[] = {FileOf(reinterpret_cast<const void*>(clients)),
                                    FileOf(reinterpret_cast<const void*>(framework))};
  const void* file = FileOf(code);
  return file != nullptr && (file == own[0] || file == own[1]);
}

}  // namespace tensorflow_ext
