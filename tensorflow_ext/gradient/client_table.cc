// SPDX-License-Identifier: Apache-2.0
//
// Register() ends the process where an op has a gradient already, and some of
// TensorFlow's own are wrong; a gradient can stand in for one of these only
// through the table, which is a private member.
//
// If this file does not compile, TensorFlow's GradOpRegistry has changed:
// ClientTable() is then to be written for what it is now.

#include "tensorflow_ext/gradient/client_table.h"

#include <dlfcn.h>

#include <cstring>

#include "tensorflow_ext/gradient/private_member.h"

namespace tensorflow_ext {

using tensorflow::ops::GradFunc;
using tensorflow::ops::GradOpRegistry;

using Table = std::unordered_map<std::string, GradFunc>;

struct TableTag {
  using Member = Table GradOpRegistry::*;
  friend Member Find(TableTag);
};
template struct PrivateMember<TableTag, &GradOpRegistry::registry_>;

namespace {

// The file that holds the code at `address`, or null.
const char* FileOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : nullptr;
}

}  // namespace

Table& ClientTable() { return GradOpRegistry::Global()->*Find(TableTag()); }

bool IsTensorFlows(GradFunc gradient) {
  const char* file = FileOf(reinterpret_cast<const void*>(gradient));
  // Not a member function's address, which need not be that of its code.
  GradOpRegistry* (*const global)() = &GradOpRegistry::Global;
  const char* registry = FileOf(reinterpret_cast<const void*>(global));
  return file != nullptr && registry != nullptr &&
         std::strcmp(file, registry) == 0;
}

}  // namespace tensorflow_ext
