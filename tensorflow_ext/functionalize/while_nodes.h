#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tensorflow/core/framework/graph.pb.h"

namespace tensorflow_ext {

// Makes the While and If nodes whose functions are not in `old_functions` as tf.while_loop and
// tf.cond make them, because Python's gradients expect that:
//   - A While counts its iterations in variable 0. Variable 1 is the maximum number of iterations;
//     -1 here, because the condition has it.
//   - They are stateless ops if their functions are. Sessions may lower them to loops of
//     TensorFlow 1 again, which run faster. The shapes of loop variables are unknown.
// The functions get names that depend on their content and on `salt`, a number for the graph, so
// two graphs can be imported into one. `parallel_iterations`: by the name of the While.
void FinishLoops(const std::set<std::string>& old_functions,
                 const std::map<std::string, int>& parallel_iterations, uint64_t salt,
                 tensorflow::GraphDef* graph);

}  // namespace tensorflow_ext
