// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's tables of gradients have no lock, and clients read them while a
// library is loaded that adds to them. A std::unordered_map loses readers where
// it links all its nodes anew, as it does when it grows. Here is what keeps
// them: every change of a table is one pointer that is stored when what it
// points to is complete, so that a reader sees the table of before or of after.
//
// What is relied upon, of libstdc++ and x86-64 (stores keep their order):
//   - Looking up reads the number of buckets, a bucket's pointer to the node
//     before its first, and follows the list while the nodes are of that
//     bucket.
//   - Adding to a bucket that has a node links the new one in front of these.
//     (Into an empty bucket it is linked in front of the whole list, and that
//     of the bucket that was first moves: two of these between two instructions
//     of a reader of that bucket, and he finds it empty.)
//   - A copy has the same buckets and the same order.
//   - Swapping stores the buckets and the begin of the list one after the
//     other. Where both tables have as many buckets, and begin with the same,
//     readers find the entries of one or of the other at each moment.
//
// This is about readers. Writers are to be kept apart: by whoever uses this
// here, and by the lock of dlopen() for what libraries register as they load.

#ifndef TENSORFLOW_EXT_GRADIENT_REGISTRY_READABLE_TABLE_H_
#define TENSORFLOW_EXT_GRADIENT_REGISTRY_READABLE_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#if !defined(__GLIBCXX__) || !defined(__x86_64__)
#error "To be written for another standard library or machine: see above"
#endif

namespace tensorflow_ext {

// A std::unordered_map by std::string.
template <typename Table>
size_t FirstBucket(const Table& table) {
  return table.bucket(table.begin()->first);
}

// Puts a copy of `table` that `change(copy)` has changed in its place. The
// change is to leave the number of buckets, and the first of them, as they are.
// What was there is not freed: readers may be in it.
template <typename Table, typename Change>
void PutChangedCopyInPlace(Table& table, const Change& change) {
  auto* const copy = new Table(table);
  change(*copy);
  table.swap(*copy);
}

// Gives every bucket of `table` an entry, under a name that no op has, and lets
// as many entries in as there may ever be without more buckets. Leaves the
// first bucket the first. A look-up has more entries to pass than in a table
// that grows: 15 ns in place of 11 with this library loaded.
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
  // Each was put before all others. What is added to an empty bucket is.
  std::vector<typename Table::node_type> nodes;
  while (table.bucket_size(first) > 0) {
    nodes.push_back(table.extract(table.begin(first)->first));
  }
  for (auto& node : nodes) table.insert(std::move(node));
}

// From here on `table`, which has entries, may be read while entries are added,
// by TensorFlow's own functions too. `change(copy)` may change those that it
// has.
template <typename Table, typename Change>
void MakeReadable(Table& table, const Change& change) {
  PutChangedCopyInPlace(table, [&change](Table& copy) {
    FillBuckets(copy);
    change(copy);
  });
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_REGISTRY_READABLE_TABLE_H_
