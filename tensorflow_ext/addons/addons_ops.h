// Tables that build TensorFlow Addons' ops from ours, with its names, order of arguments and
// outputs, attributes and defaults. Types are ours: an op may admit more than in Addons, but none
// without a kernel.

#pragma once

#include <vector>

#include "tensorflow_ext/composite/composite.h"

namespace tensorflow_ext {

// Each list and its elements live as long as the process.
const std::vector<CompositeOp>& AddonsActivations();
const std::vector<CompositeOp>& AddonsEmbeddings();
const std::vector<CompositeOp>& AddonsImages();

}  // namespace tensorflow_ext
