// Checks step by step that the standard library behaves as readable_table.h assumes, and that
// readers find everything while one thread changes the table.

#include "tensorflow_ext/gradient/registry/readable_table.h"

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace tensorflow_ext {
namespace {

using Table = std::unordered_map<std::string, const int*>;

int failures = 0;

void Check(bool ok, const char* what) {
  if (ok) return;
  ++failures;
  std::printf("not so: %s\n", what);
}

const int kOld = 1, kNew = 2;

std::string Name(int i) { return "Op" + std::to_string(i); }

Table MakeTable(int size) {
  Table table;
  for (int i = 0; i < size; ++i) table.emplace(Name(i), &kOld);
  return table;
}

void Unchanged(Table&) {}

void DoesNotChange(int size) {
  Table table = MakeTable(size);
  const size_t buckets = table.bucket_count();
  const size_t first = FirstBucket(table);
  MakeReadable(table, Unchanged);
  Check(table.bucket_count() == buckets, "as many buckets as before");
  Check(FirstBucket(table) == first, "the same is the first bucket");
  for (size_t i = 0; i < buckets; ++i) {
    Check(table.bucket_size(i) > 0, "every bucket has an entry");
  }
  for (int i = 0; i < size; ++i) {
    Check(table.count(Name(i)) == 1, "no entry is lost");
  }
  const int** const entry = const_cast<const int**>(&table.at(Name(0)));
  for (int i = 0; i < 50 * size; ++i) {
    Check(table.emplace(" new" + Name(i), &kNew).second, "it is new");
    Check(FirstBucket(table) == first, "new entries leave the first bucket");
  }
  Check(table.bucket_count() == buckets, "new entries need no more buckets");
  Check(entry == &table.at(Name(0)), "and move none");
  PutChangedCopyInPlace(table, [](Table& copy) { copy.at(Name(0)) = &kNew; });
  Check(table.bucket_count() == buckets && FirstBucket(table) == first,
        "a copy has the same buckets");
  Check(entry != &table.at(Name(0)) && *entry == &kOld,
        "what was there stays for those who read it");
  Check(table.at(Name(0)) == &kNew, "the change is there");
}

// Readers never miss an entry, whatever changes the table.
void ReadersFindEverything() {
  constexpr int kSize = 100, kTables = 50;
  std::vector<Table> tables;
  for (int i = 0; i < kTables; ++i) tables.push_back(MakeTable(kSize));
  std::atomic<bool> ends{false};
  std::atomic<int> lost{0}, current{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!ends) {
        const Table& table = tables[current];
        for (int i = 0; i < kSize; ++i) {
          const auto found = table.find(Name(i));
          if (found == table.end() || *found->second == 0) ++lost;
        }
      }
    });
  }
  for (Table& table : tables) {
    MakeReadable(table, Unchanged);
    for (int i = kSize; i < 10 * kSize; ++i) table.emplace(Name(i), &kOld);
    PutChangedCopyInPlace(table, [](Table& copy) { copy.at(Name(1)) = &kNew; });
    if (current + 1 < kTables) ++current;
  }
  ends = true;
  for (std::thread& reader : readers) reader.join();
  Check(lost == 0, "readers find every entry");
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  for (int size : {1, 12, 13, 187}) tensorflow_ext::DoesNotChange(size);
  tensorflow_ext::ReadersFindEverything();
  if (tensorflow_ext::failures == 0) std::printf("as it should be\n");
  return tensorflow_ext::failures == 0 ? 0 : 1;
}
