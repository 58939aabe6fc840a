package tensorflow

// #include "tensorflow/c/c_api.h"
// #include "tensorflow/c/tf_tstring.h"
//
// // A Go string may be at any address; C has copied it when this returns.
// static void SetString(TF_TString* strings, size_t i, _GoString_ value) {
//   TF_StringCopy(&strings[i], _GoStringPtr(value), _GoStringLen(value));
// }
//
// static const char* StringData(const TF_TString* strings, size_t i) {
//   return TF_StringGetDataPointer(&strings[i]);
// }
//
// static int StringSize(const TF_TString* strings, size_t i) {
//   return (int)TF_StringGetSize(&strings[i]);
// }
import "C"

import (
	"fmt"
	"io"
	"reflect"
	"runtime"
	"unsafe"
)

// DataType is the type of the elements of a tensor.
type DataType C.TF_DataType

// The types of elements.
const (
	Float      DataType = C.TF_FLOAT
	Double     DataType = C.TF_DOUBLE
	Int32      DataType = C.TF_INT32
	Uint8      DataType = C.TF_UINT8
	Int16      DataType = C.TF_INT16
	Int8       DataType = C.TF_INT8
	String     DataType = C.TF_STRING
	Complex64  DataType = C.TF_COMPLEX64
	Int64      DataType = C.TF_INT64
	Bool       DataType = C.TF_BOOL
	Bfloat16   DataType = C.TF_BFLOAT16
	Uint16     DataType = C.TF_UINT16
	Complex128 DataType = C.TF_COMPLEX128
	Half       DataType = C.TF_HALF
	Uint32     DataType = C.TF_UINT32
	Uint64     DataType = C.TF_UINT64
)

// The types that Go has, too.
var goTypes = map[DataType]reflect.Type{
	Float:      reflect.TypeOf(float32(0)),
	Double:     reflect.TypeOf(float64(0)),
	Int8:       reflect.TypeOf(int8(0)),
	Int16:      reflect.TypeOf(int16(0)),
	Int32:      reflect.TypeOf(int32(0)),
	Int64:      reflect.TypeOf(int64(0)),
	Uint8:      reflect.TypeOf(uint8(0)),
	Uint16:     reflect.TypeOf(uint16(0)),
	Uint32:     reflect.TypeOf(uint32(0)),
	Uint64:     reflect.TypeOf(uint64(0)),
	Bool:       reflect.TypeOf(false),
	Complex64:  reflect.TypeOf(complex64(0)),
	Complex128: reflect.TypeOf(complex128(0)),
	String:     reflect.TypeOf(""),
}

// Tensor is an array of elements of one type.
type Tensor struct {
	c     *C.TF_Tensor
	shape []int64
}

func ownTensor(c *C.TF_Tensor) *Tensor {
	tensor := &Tensor{c, make([]int64, C.TF_NumDims(c))}
	for i := range tensor.shape {
		tensor.shape[i] = int64(C.TF_Dim(c, C.int(i)))
	}
	runtime.SetFinalizer(tensor, func(t *Tensor) { C.TF_DeleteTensor(t.c) })
	return tensor
}

// allocate returns a tensor of zeros (of empty strings).
func allocate(dtype DataType, shape []int64) (*Tensor, error) {
	element := int64(C.TF_DataTypeSize(C.TF_DataType(dtype)))
	if dtype == String {
		element = C.sizeof_TF_TString
	}
	if element == 0 {
		return nil, fmt.Errorf("a tensor of type %d: expected numbers, booleans or strings", dtype)
	}
	size := element
	for _, dim := range shape {
		if dim < 0 {
			return nil, fmt.Errorf("a tensor of shape %v: expected no negative size", shape)
		}
		if size *= dim; size > 1<<48 {
			return nil, fmt.Errorf("a tensor of shape %v is larger than any memory", shape)
		}
	}
	cTensor := C.TF_AllocateTensor(C.TF_DataType(dtype),
		(*C.int64_t)(unsafe.Pointer(first(shape))), C.int(len(shape)), C.size_t(size))
	if cTensor == nil {
		return nil, fmt.Errorf("no memory for a tensor of shape %v", shape)
	}
	tensor := ownTensor(cTensor)
	bytes := tensor.bytes()
	for i := range bytes { // All zeros is an empty string, too.
		bytes[i] = 0
	}
	return tensor, nil
}

// bytes returns the memory of the tensor.
func (t *Tensor) bytes() []byte {
	return unsafe.Slice((*byte)(C.TF_TensorData(t.c)), int(C.TF_TensorByteSize(t.c)))
}

func (t *Tensor) strings() *C.TF_TString { return (*C.TF_TString)(C.TF_TensorData(t.c)) }

// DataType returns the type of the elements.
func (t *Tensor) DataType() DataType {
	defer runtime.KeepAlive(t)
	return DataType(C.TF_TensorType(t.c))
}

// Shape returns the size of each dimension.
func (t *Tensor) Shape() []int64 { return t.shape }

// ReadTensor reads the elements of a tensor in their memory layout. It does not read strings.
func ReadTensor(dataType DataType, shape []int64, r io.Reader) (*Tensor, error) {
	if dataType == String {
		return nil, fmt.Errorf("ReadTensor does not read strings: NewTensor takes them")
	}
	tensor, err := allocate(dataType, shape)
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(r, tensor.bytes()); err != nil {
		return nil, err
	}
	return tensor, nil
}

// WriteContentsTo writes the elements in their memory layout. It does not write strings.
func (t *Tensor) WriteContentsTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(t)
	if t.DataType() == String {
		return 0, fmt.Errorf("WriteContentsTo does not write strings: Value returns them")
	}
	written, err := w.Write(t.bytes())
	return int64(written), err
}

// NewTensor returns the tensor of a Go value: a number, a boolean, a string, or slices of these,
// and slices of slices of the same length.
func NewTensor(value interface{}) (*Tensor, error) {
	if value == nil {
		return nil, fmt.Errorf("nil is no value of a tensor")
	}
	var shape []int64
	element, one := reflect.TypeOf(value), reflect.ValueOf(value)
	for element.Kind() == reflect.Slice || element.Kind() == reflect.Array {
		element = element.Elem()
		if !one.IsValid() {
			shape = append(shape, 0)
			continue
		}
		shape = append(shape, int64(one.Len()))
		if one.Len() > 0 {
			one = one.Index(0)
		} else {
			one = reflect.Value{}
		}
	}
	for dtype, known := range goTypes {
		if known.Kind() != element.Kind() {
			continue
		}
		tensor, err := allocate(dtype, shape)
		if err != nil {
			return nil, err
		}
		defer runtime.KeepAlive(tensor)
		count := 0
		err = tensor.fill(reflect.ValueOf(value), shape, known, &count)
		return tensor, err
	}
	return nil, fmt.Errorf("%T is no value of a tensor", value)
}

// fill copies the elements of value, which has this shape; count is the number copied so far.
func (t *Tensor) fill(value reflect.Value, shape []int64, element reflect.Type, count *int) error {
	if len(shape) == 0 {
		if element.Kind() == reflect.String {
			C.SetString(t.strings(), C.size_t(*count), value.String())
		} else {
			size := int(element.Size())
			place := unsafe.Pointer(&t.bytes()[*count*size])
			reflect.NewAt(element, place).Elem().Set(value.Convert(element))
		}
		*count++
		return nil
	}
	if int64(value.Len()) != shape[0] {
		return fmt.Errorf("a slice of length %d beside one of length %d: a tensor has no ragged rows",
			value.Len(), shape[0])
	}
	for i := 0; i < value.Len(); i++ {
		if err := t.fill(value.Index(i), shape[1:], element, count); err != nil {
			return err
		}
	}
	return nil
}

// Value returns the tensor as a Go value; for shape [2, 3], a slice of two slices. It panics if Go
// lacks the type of the elements.
func (t *Tensor) Value() interface{} {
	defer runtime.KeepAlive(t)
	element, known := goTypes[t.DataType()]
	if !known {
		panic(fmt.Sprintf("a tensor of type %d has no value in Go", t.DataType()))
	}
	count := 0
	return t.value(t.shape, element, &count).Interface()
}

// value returns the part of this shape after `count` elements.
func (t *Tensor) value(shape []int64, element reflect.Type, count *int) reflect.Value {
	if len(shape) == 0 {
		found := reflect.New(element).Elem()
		if element.Kind() == reflect.String {
			i := C.size_t(*count)
			found.SetString(C.GoStringN(C.StringData(t.strings(), i), C.StringSize(t.strings(), i)))
		} else {
			place := unsafe.Pointer(&t.bytes()[*count*int(element.Size())])
			found.Set(reflect.NewAt(element, place).Elem())
		}
		*count++
		return found
	}
	part := element
	for range shape {
		part = reflect.SliceOf(part)
	}
	found := reflect.MakeSlice(part, int(shape[0]), int(shape[0]))
	for i := 0; i < int(shape[0]); i++ {
		found.Index(i).Set(t.value(shape[1:], element, count))
	}
	return found
}
