// SPDX-License-Identifier: Apache-2.0
//
// Whose gradient an op gets where TensorFlow has one, too.

#ifndef TENSORFLOW_EXT_GRADIENT_REGISTRY_PRECEDENCE_H_
#define TENSORFLOW_EXT_GRADIENT_REGISTRY_PRECEDENCE_H_

namespace tensorflow_ext {

// Whether the environment asks for TensorFlow's gradients wherever it has one:
// TFEXT_KEEP_TENSORFLOW_GRADIENTS is set to anything but 0. Read once.
bool KeepsTensorFlows();

// Whether `code`, the address of a function, is in one of TensorFlow's files.
bool IsTensorFlows(const void* code);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_REGISTRY_PRECEDENCE_H_
