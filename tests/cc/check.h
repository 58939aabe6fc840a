// Checks for C++ tests without a framework, from any thread. A failed check does not stop the test;
// main returns the exit status.

#pragma once

#include <atomic>
#include <cstdio>
#include <string>

namespace tensorflow_ext {

inline std::atomic<int> failures{0};

// Counts a failure unless `ok`, and prints the first ones.
inline void Check(bool ok, const std::string& what) {
  if (ok || ++failures > 20) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
}

// The same for an absl::Status.
template <typename Status>
void CheckOk(const Status& status) {
  Check(status.ok(), status.ToString());
}

inline int ExitStatus() {
  std::fprintf(stderr, "%d failures\n", failures.load());
  return failures == 0 ? 0 : 1;
}

}  // namespace tensorflow_ext
