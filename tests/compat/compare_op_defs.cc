// Compares the definitions of ops with earlier ones by TensorFlow's own rules.
//
//   compare_op_defs HISTORY OPS
//
// Both are serialized tensorflow.OpList files. OPS has each op as it is now. HISTORY has every
// definition that each op has had, oldest first. Prints a line for each definition of HISTORY that
// graphs may hold and that today's op does not accept with its old meaning: OP, a tab, the problem.
// Exit status: 0, no line; 1, some lines; 2, wrong arguments or files.

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tensorflow/core/framework/op_def_util.h"

namespace {

using tensorflow::OpDef;
using tensorflow::OpList;

bool Read(const char* path, OpList* ops) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  return file && ops->ParseFromString(content);
}

// The reason why `now` does not fit graphs made with a definition of `before`.
absl::Status Compare(const std::vector<const OpDef*>& before, const OpDef& now) {
  const OpDef& last = *before.back();
  for (const OpDef* old : before) {
    absl::Status status = tensorflow::ValidateOpDef(*old);
    status.Update(tensorflow::OpDefCompatible(*old, now));
    status.Update(tensorflow::OpDefAddedDefaultsUnchanged(*old, last, now));
    if (!status.ok()) return status;
    if (old->is_stateful() != now.is_stateful()) {
      return absl::InvalidArgumentError(old->is_stateful() ? "it was stateful"
                                                           : "it was not stateful");
    }
  }
  return tensorflow::OpDefAttrDefaultsUnchanged(last, now);
}

}  // namespace

int main(int argc, char** argv) {
  OpList history, ops;
  if (argc != 3 || !Read(argv[1], &history) || !Read(argv[2], &ops)) {
    std::cerr << "usage: compare_op_defs HISTORY OPS, two files of a "
                 "serialized tensorflow.OpList each\n";
    return 2;
  }
  std::map<std::string, const OpDef*> by_name;
  for (const OpDef& op : ops.op()) by_name[op.name()] = &op;
  std::map<std::string, std::vector<const OpDef*>> before;
  for (const OpDef& op : history.op()) before[op.name()].push_back(&op);

  int faults = 0;
  for (const auto& [name, definitions] : before) {
    const auto now = by_name.find(name);
    const absl::Status status = now == by_name.end() ? absl::NotFoundError("there is no such op")
                                                     : Compare(definitions, *now->second);
    if (status.ok()) continue;
    std::cout << name << "\t" << status.message() << "\n";
    ++faults;
  }
  return faults == 0 ? 0 : 1;
}
