// The debug switch that makes gradients check their shapes at run time.

#pragma once

namespace tensorflow_ext {

// True if a gradient is checked at run time when its shape or its input's shape is not known
// beforehand. The initial value comes from TFEXT_CHECK_GRADIENTS in the environment (anything but 0
// means true).
bool ChecksAtRunTime();

// Sets the switch for gradients added from now on; returns the previous value. Thread-safe.
bool SetChecksAtRunTime(bool checks);

}  // namespace tensorflow_ext
