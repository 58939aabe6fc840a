package tensorflow

// #include "tensorflow/c/c_api.h"
import "C"

// statusError is an error of TensorFlow: its message, and its code for callers that check for a
// Code method.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return e.message }

// Code returns one of TF_Code.
func (e *statusError) Code() int { return e.code }

// check calls a C function that reports errors by a status.
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
