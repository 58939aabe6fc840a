// SPDX-License-Identifier: Apache-2.0
//
// Goes behind TensorFlow's interface, as static_shapes.cc does. Register() ends
// the process where an op has a gradient already, and some of TensorFlow's own
// are wrong; a gradient can stand in for one of these only through the table,
// which is a private member. An explicit instantiation of a template may name
// it: access is not checked there (C++17, [temp.spec] paragraph 6).
//
// If this file does not compile, TensorFlow's GradOpRegistry has changed:
// ClientTable() is then to be written for what it is now.

#include "tensorflow_ext/gradient/client_table.h"

#include <dlfcn.h>

#include <cstring>

namespace tensorflow_ext {

using tensorflow::ops::GradFunc;
using tensorflow::ops::GradOpRegistry;

namespace {

using Table = std::unordered_map<std::string, GradFunc>;
using TableMember = Table GradOpRegistry::*;

TableMember FindTable();

template <TableMember member>
struct PrivateMember {
  friend TableMember FindTable() { return member; }
};
template struct PrivateMember<&GradOpRegistry::registry_>;

// The file that holds the code at `address`, or null.
const char* FileOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : nullptr;
}

}  // namespace

Table& ClientTable() { return GradOpRegistry::Global()->*FindTable(); }

bool IsTensorFlows(GradFunc gradient) {
  const char* file = FileOf(reinterpret_cast<const void*>(gradient));
  // Not a member function's address, which need not be that of its code.
  GradOpRegistry* (*const global)() = &GradOpRegistry::Global;
  const char* registry = FileOf(reinterpret_cast<const void*>(global));
  return file != nullptr && registry != nullptr &&
         std::strcmp(file, registry) == 0;
}

}  // namespace tensorflow_ext
