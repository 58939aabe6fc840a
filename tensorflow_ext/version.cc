#include "tensorflow_ext/version.h"

// The compiler's command line defines TF_*_VERSION, as in TensorFlow's own build: the wheel's
// headers do not contain its version.
#define TENSORFLOW_EXT_STRING(x) #x
#define TENSORFLOW_EXT_EXPANDED_STRING(x) TENSORFLOW_EXT_STRING(x)
#define TENSORFLOW_EXT_TF_VERSION                                                          \
  TENSORFLOW_EXT_EXPANDED_STRING(TF_MAJOR_VERSION)                                         \
  "." TENSORFLOW_EXT_EXPANDED_STRING(TF_MINOR_VERSION) "." TENSORFLOW_EXT_EXPANDED_STRING( \
      TF_PATCH_VERSION) TF_VERSION_SUFFIX

const char* TfExt_Version() {
  return "tensorflow_ext " TFEXT_VERSION " for TensorFlow " TENSORFLOW_EXT_TF_VERSION;
}

const char* TfExt_TensorFlowVersion() { return TENSORFLOW_EXT_TF_VERSION; }
