// Decides between our gradient of an op and TensorFlow's.

#pragma once

namespace tensorflow_ext {

// True if the environment asks for TensorFlow's gradients wherever they exist:
// TFEXT_KEEP_TENSORFLOW_GRADIENTS is set to anything but 0. Read once.
bool KeepsTensorFlows();

// True if `code`, the address of a function, is in one of TensorFlow's files.
bool IsTensorFlows(const void* code);

}  // namespace tensorflow_ext
