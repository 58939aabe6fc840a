// TensorFlow's tables of gradients have no lock, and clients read them while a library that adds to
// them is loading. A std::unordered_map loses readers when it relinks all its nodes, as it does
// when it grows. The functions here keep the readers: every change of a table stores one pointer to
// complete data, so a reader sees the table either before or after the change.
//
// This relies on libstdc++ and x86-64 (stores keep their order):
//   - A look-up reads the number of buckets and a bucket's pointer to the node
//     before its first, and follows the list while nodes belong to that bucket.
//   - A node added to a bucket with nodes is linked in front of these. (A node
//     added to an empty bucket is linked in front of the whole list, and the
//     bucket that was first moves. Two such additions between two instructions
//     of a reader of that bucket make it find the bucket empty.)
//   - A copy has the same buckets and the same order.
//   - A swap stores the buckets and then the start of the list. If both tables
//     have the same number of buckets and the same first bucket, readers always
//     find the entries of one or of the other.
//
// This protects readers. Writers must be kept apart: by the users of this file, and by the lock of
// dlopen() for libraries that register as they load.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#if !defined(__GLIBCXX__) || !defined(__x86_64__)
#error "To be written for another standard library or machine: see above"
#endif

namespace tensorflow_ext {

// A std::unordered_map keyed by std::string.
template <typename Table>
size_t FirstBucket(const Table& table) {
  return table.bucket(table.begin()->first);
}

// Replaces `table` by a copy that `change(copy)` has changed. The change must keep the number of
// buckets and the first bucket. The old content is not freed: readers may be in it.
template <typename Table, typename Change>
void PutChangedCopyInPlace(Table& table, const Change& change) {
  auto* const copy = new Table(table);
  change(*copy);
  table.swap(*copy);
}

// Gives every bucket of `table` an entry, under a name that no op has, and reserves room for all
// entries without more buckets. Keeps the first bucket. A look-up passes more entries than in a
// growing table: 15 ns instead of 11 with this library loaded.
template <typename Table>
void FillBuckets(Table& table) {
  table.max_load_factor(1e6);
  const size_t first = FirstBucket(table);
  size_t empty = 0;
  for (size_t i = 0; i < table.bucket_count(); ++i) {
    empty += table.bucket_size(i) == 0;
  }
  for (int i = 0; empty > 0; ++i) {
    std::string name = " " + std::to_string(i);
    if (table.bucket_size(table.bucket(name)) > 0) continue;
    table.emplace(std::move(name), typename Table::mapped_type());
    --empty;
  }
  // The new nodes come first now. Reinserting the first bucket's nodes, into an empty bucket, puts
  // them first again.
  std::vector<typename Table::node_type> nodes;
  while (table.bucket_size(first) > 0) {
    nodes.push_back(table.extract(table.begin(first)->first));
  }
  for (auto& node : nodes) table.insert(std::move(node));
}

// Makes `table`, which has entries, readable while entries are added, even by TensorFlow's own
// functions. `change(copy)` may change the existing entries.
template <typename Table, typename Change>
void MakeReadable(Table& table, const Change& change) {
  PutChangedCopyInPlace(table, [&change](Table& copy) {
    FillBuckets(copy);
    change(copy);
  });
}

}  // namespace tensorflow_ext
