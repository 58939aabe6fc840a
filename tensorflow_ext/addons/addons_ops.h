// SPDX-License-Identifier: Apache-2.0
//
// The ops of TensorFlow Addons, as tables of ours: its names, its order of
// arguments and outputs, its attributes and defaults. Where it admits fewer
// types than ours, ours are admitted; where it admits types without a kernel,
// they are not.

#ifndef TENSORFLOW_EXT_ADDONS_ADDONS_OPS_H_
#define TENSORFLOW_EXT_ADDONS_ADDONS_OPS_H_

#include <vector>

#include "tensorflow_ext/composite/composite.h"

namespace tensorflow_ext {

// Each list and what it holds live as long as the process.
const std::vector<CompositeOp>& AddonsActivations();
const std::vector<CompositeOp>& AddonsEmbeddings();
const std::vector<CompositeOp>& AddonsImages();

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_ADDONS_ADDONS_OPS_H_
