/* The versions of this library and of the TensorFlow it was built for. Plain C.
 *
 * TensorFlow's C++ interface changes from one minor version to the next, so the
 * library runs only in the minor version it was built for. A process that loads
 * it into another one sees an undefined symbol, but the string below is always
 * in the file:
 *   strings libtensorflow_ext.so | grep 'for TensorFlow'
 */
#pragma once

/* This library's version. It is defined only here: everything else reads this line or asks the
 * library. docs/compatibility.md explains when it changes. */
#define TFEXT_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* "tensorflow_ext 0.1.0 for TensorFlow 2.21.0": this library's version and that of the TensorFlow
 * it was built for. The string lives as long as the library. No errors; any thread. */
__attribute__((visibility("default"))) const char* TfExt_Version(void);

/* "2.21.0": the version of the TensorFlow that this library was built for. The string lives as long
 * as the library. No errors; any thread. */
__attribute__((visibility("default"))) const char* TfExt_TensorFlowVersion(void);

#ifdef __cplusplus
} /* extern "C" */
#endif
