// TensorFlow calls nobody when a library registers a gradient. It does look up the op of each node
// that it adds to a graph, and no client can differentiate a node before that.

#pragma once

#include <string>

namespace tensorflow_ext {

// From now on, each look-up of an op in TensorFlow's registry calls `watcher` if it finds the op.
// Many threads may call it at the same time.
void WatchOpLookUps(void (*watcher)(const std::string& op));

}  // namespace tensorflow_ext
