package wire

// #include <tensorflow/c/c_api.h>
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	tf "github.com/wamuir/graft/tensorflow"
)

// The judge compares all types and TensorFlow's codes of errors. graft has both, but no function
// for them, so these functions read the C objects that its values hold.

// object returns the C object of one of graft's values.
func object(value interface{}) unsafe.Pointer {
	return reflect.ValueOf(value).Elem().FieldByName("c").UnsafePointer()
}

// Code returns TensorFlow's code of an error; `otherwise` if it is not TensorFlow's.
func Code(err error, otherwise int64) int64 {
	for ; err != nil; err = errors.Unwrap(err) {
		if fmt.Sprintf("%T", err) == "*tensorflow.statusError" {
			return int64(C.TF_GetCode((*C.TF_Status)(object(err))))
		}
	}
	return otherwise
}

// content returns the bytes of a tensor whose type has a fixed size.
func content(tensor *tf.Tensor) string {
	c := (*C.TF_Tensor)(object(tensor))
	return C.GoStringN((*C.char)(C.TF_TensorData(c)), C.int(C.TF_TensorByteSize(c)))
}

// An integer of each size, in bytes, that ReadTensor takes.
var sized = map[C.size_t]tf.DataType{1: tf.Int8, 2: tf.Int16, 4: tf.Int32, 8: tf.Int64, 16: tf.Complex128}

// newTensor makes a tensor of its bytes. ReadTensor panics with half and bfloat16 and refuses
// unsigned numbers, so it reads a type of the same size, and the type is changed.
func newTensor(dtype tf.DataType, shape []int64, from *bytes.Reader) (*tf.Tensor, error) {
	tensor, err := tf.ReadTensor(sized[C.TF_DataTypeSize(C.TF_DataType(dtype))], shape, from)
	if err != nil {
		return nil, err
	}
	if from.Len() > 0 {
		return nil, fmt.Errorf("%d bytes too many for a tensor of shape %v", from.Len(), shape)
	}
	status := C.TF_NewStatus()
	defer C.TF_DeleteStatus(status)
	var dims *C.int64_t
	if len(shape) > 0 {
		dims = (*C.int64_t)(unsafe.Pointer(&shape[0]))
	}
	c := (*C.TF_Tensor)(object(tensor))
	C.TF_TensorBitcastFrom(c, C.TF_DataType(dtype), c, dims, C.int(len(shape)), status)
	if C.TF_GetCode(status) != C.TF_OK {
		return nil, errors.New(C.GoString(C.TF_Message(status)))
	}
	return tensor, nil
}
