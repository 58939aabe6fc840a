#pragma once

#include <string>
#include <unordered_map>

#include "tensorflow/cc/framework/grad_op_registry.h"

namespace tensorflow_ext {

// The table of TensorFlow's client registry, by op name. It has no lock: other threads may read it
// while one adds or replaces entries (readable_table.h). See WriterMutex() of client_registry.cc.
std::unordered_map<std::string, tensorflow::ops::GradFunc>& ClientTable();

}  // namespace tensorflow_ext
