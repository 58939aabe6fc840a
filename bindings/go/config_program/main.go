// Program says whether TensorFlow has an op of this library, which it loads.
package main

/*
#cgo LDFLAGS: -ltensorflow
#include <stdlib.h>
#include <tensorflow/c/c_api.h>
*/
import "C"

import (
	"fmt"
	"log"
	"os"
	"unsafe"
)

func main() {
	library := C.CString(os.Getenv("TENSORFLOW_EXT_LIBRARY"))
	defer C.free(unsafe.Pointer(library))
	op := C.CString("TfExt>Relu")
	defer C.free(unsafe.Pointer(op))
	status := C.TF_NewStatus()
	defer C.TF_DeleteStatus(status)
	C.TF_LoadLibrary(library, status)
	if C.TF_GetCode(status) == C.TF_OK {
		C.TF_GraphGetOpDef(C.TF_NewGraph(), op, C.TF_NewBuffer(), status)
	}
	if C.TF_GetCode(status) != C.TF_OK {
		log.Fatal(C.GoString(C.TF_Message(status)))
	}
	fmt.Printf("TensorFlow %s has TfExt>Relu\n", C.GoString(C.TF_Version()))
}
