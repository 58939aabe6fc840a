// SPDX-License-Identifier: Apache-2.0
//
// The debug switch: whether gradients check their shapes while they run.

#ifndef TENSORFLOW_EXT_GRADIENT_EXPAND_RUN_TIME_CHECKS_H_
#define TENSORFLOW_EXT_GRADIENT_EXPAND_RUN_TIME_CHECKS_H_

namespace tensorflow_ext {

// Whether a gradient whose shape, or whose input's, is not known beforehand is
// checked when it is computed. At first as TFEXT_CHECK_GRADIENTS in the
// environment says (anything but 0: yes).
bool ChecksAtRunTime();

// Says so for the gradients that are added from now on; returns what was
// before. Thread-safe.
bool SetChecksAtRunTime(bool checks);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_EXPAND_RUN_TIME_CHECKS_H_
