package tensorflow

// #include <stdlib.h>
// #include "tensorflow/c/c_api.h"
import "C"

import "unsafe"

// LibraryHandler represents a library of ops, which stays loaded as long as the process runs.
type LibraryHandler struct{}

// LoadLibrary registers the ops, kernels and gradients of a shared library for all graphs of the
// process. Loading it again does nothing.
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
