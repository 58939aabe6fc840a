// Register() ends the process if an op already has a gradient, and some of TensorFlow's own are
// wrong. Only the table, a private member, lets a gradient replace one of these.
//
// If this file does not compile, TensorFlow's GradOpRegistry has changed, and ClientTable() must be
// adapted.

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
