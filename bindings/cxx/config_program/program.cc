#include <iostream>

#include "absl/strings/str_cat.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow_ext/gradient/c_api.h"

// Says whether there is an op of this library, which is linked.
int main() {
  if (TfExt_GradientRegistries("TfExt>Relu") == 0) return 1;
  std::cout << absl::StrCat("TensorFlow ", TF_Version(), " has TfExt>Relu\n");
}
