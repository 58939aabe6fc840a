// SPDX-License-Identifier: Apache-2.0

package tensorflow

// #include "tensorflow/c/c_api.h"
import "C"

// statusError is what TensorFlow refused: its message, and its code for who asks
// whether the error has a Code.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return e.message }

// Code is one of TF_Code.
func (e *statusError) Code() int { return e.code }

// check calls a function of C that reports by a status.
func check(call func(status *C.TF_Status)) error {
	status := C.TF_NewStatus()
	defer C.TF_DeleteStatus(status)
	call(status)
	code := C.TF_GetCode(status)
	if code == C.TF_OK {
		return nil
	}
	return &statusError{int(code), C.GoString(C.TF_Message(status))}
}
