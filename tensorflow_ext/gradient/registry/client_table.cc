// SPDX-License-Identifier: Apache-2.0
//
// Register() ends the process where an op has a gradient already, and some of
// TensorFlow's own are wrong; a gradient can stand in for one of these only
// through the table, which is a private member.
//
// If this file does not compile, TensorFlow's GradOpRegistry has changed:
// ClientTable() is then to be written for what it is now.

#include "tensorflow_ext/gradient/registry/client_table.h"

#include "tensorflow_ext/base/private_member.h"
#include "tensorflow_ext/gradient/registry/readable_table.h"

namespace tensorflow_ext {

using tensorflow::ops::GradFunc;
using tensorflow::ops::GradOpRegistry;

using Table = std::unordered_map<std::string, GradFunc>;

struct TableTag {
  using Member = Table GradOpRegistry::*;
  friend Member Find(TableTag);
};
template struct PrivateMember<TableTag, &GradOpRegistry::registry_>;

Table& ClientTable() {
  static Table& table = []() -> Table& {
    Table& table = GradOpRegistry::Global()->*Find(TableTag());
    MakeReadable(table, [](Table&) {});
    return table;
  }();
  return table;
}

}  // namespace tensorflow_ext
