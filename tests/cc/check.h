// SPDX-License-Identifier: Apache-2.0
//
// What a test in C++ without a framework needs: checks that go on after a
// failure, and the exit status of main.

#ifndef TENSORFLOW_EXT_TESTS_CC_CHECK_H_
#define TENSORFLOW_EXT_TESTS_CC_CHECK_H_

#include <cstdio>
#include <string>

namespace tensorflow_ext {

inline int failures = 0;

// Counts a failure unless `ok`, and prints the first ones.
inline void Check(bool ok, const std::string& what) {
  if (ok || ++failures > 20) return;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
}

inline int ExitStatus() {
  std::fprintf(stderr, "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_TESTS_CC_CHECK_H_
