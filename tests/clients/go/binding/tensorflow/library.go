// SPDX-License-Identifier: Apache-2.0

package tensorflow

// #include <stdlib.h>
// #include "tensorflow/c/c_api.h"
import "C"

import "unsafe"

// LibraryHandler stands for a library of ops. The library stays as long as the process.
type LibraryHandler struct{}

// LoadLibrary makes the ops, kernels and gradients of a shared library known to all
// graphs of the process. To load it again does nothing.
func LoadLibrary(path string) (*LibraryHandler, error) {
	cPath := C.CString(path)
	defer C.free(unsafe.Pointer(cPath))
	err := check(func(status *C.TF_Status) {
		if library := C.TF_LoadLibrary(cPath, status); library != nil {
			C.TF_DeleteLibraryHandle(library)
		}
	})
	if err != nil {
		return nil, err
	}
	return &LibraryHandler{}, nil
}
