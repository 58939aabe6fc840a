package tensorflow

// #include <stdlib.h>
// #include "tensorflow/c/c_api.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// OpSpec describes the operation to add.
type OpSpec struct {
	// Type is the name of the op.
	Type string
	// Name is the name of the node; Type if it is empty.
	Name string
	// Input has an Output for each input of the op, or an OutputList for each list.
	Input []Input
	// Attrs are the attributes: string, int64, float32, bool, DataType, Shape,
	// *Tensor and slices of these.
	Attrs map[string]interface{}
	// ControlDependencies run before this operation.
	ControlDependencies []*Operation
}

// AddOperation adds a node.
func (g *Graph) AddOperation(spec OpSpec) (*Operation, error) {
	defer runtime.KeepAlive(g)
	if spec.Name == "" {
		spec.Name = spec.Type
	}
	// A description cannot be discarded, so everything that may fail comes before it.
	inputs := make([][]C.TF_Output, len(spec.Input))
	isList := make([]bool, len(spec.Input))
	for i, input := range spec.Input {
		var outputs []Output
		outputs, isList[i] = input.outputs()
		var err error
		if inputs[i], err = cOutputs(outputs, fmt.Sprintf("input %d of %s:", i, spec.Type)); err != nil {
			return nil, err
		}
	}
	control, err := cOperations(spec.ControlDependencies, "control dependency")
	if err != nil {
		return nil, err
	}
	for name, value := range spec.Attrs {
		if !isAttr(value) {
			return nil, fmt.Errorf("attribute %s of %s: %T is no type of an attribute", name, spec.Type, value)
		}
	}

	cType, cName := C.CString(spec.Type), C.CString(spec.Name)
	defer C.free(unsafe.Pointer(cType))
	defer C.free(unsafe.Pointer(cName))
	description := C.TF_NewOperation(g.c, cType, cName)
	for i, outputs := range inputs {
		if isList[i] {
			C.TF_AddInputList(description, first(outputs), C.int(len(outputs)))
		} else {
			C.TF_AddInput(description, outputs[0])
		}
	}
	for _, operation := range control {
		C.TF_AddControlInput(description, operation)
	}
	for name, value := range spec.Attrs {
		if err := setAttr(description, name, value); err != nil {
			return nil, fmt.Errorf("attribute %s of %s: %w", name, spec.Type, err)
		}
	}
	var operation *C.TF_Operation
	err = check(func(status *C.TF_Status) { operation = C.TF_FinishOperation(description, status) })
	if err != nil {
		return nil, err
	}
	return &Operation{operation, g}, nil
}

func isAttr(value interface{}) bool {
	switch value.(type) {
	case string, []string, int64, []int64, float32, []float32, bool, []bool,
		DataType, []DataType, Shape, []Shape, *Tensor, []*Tensor:
		return true
	}
	return false
}

// setAttr sets one attribute, of a type that isAttr accepts.
func setAttr(description *C.TF_OperationDescription, name string, value interface{}) error {
	defer runtime.KeepAlive(value)
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	switch value := value.(type) {
	case string:
		cValue := C.CString(value)
		defer C.free(unsafe.Pointer(cValue))
		C.TF_SetAttrString(description, cName, unsafe.Pointer(cValue), C.size_t(len(value)))
	case []string:
		pointers, lengths := make([]unsafe.Pointer, len(value)), make([]C.size_t, len(value))
		for i, text := range value {
			pointers[i], lengths[i] = unsafe.Pointer(C.CString(text)), C.size_t(len(text))
			defer C.free(pointers[i])
		}
		C.TF_SetAttrStringList(description, cName, first(pointers), first(lengths), C.int(len(value)))
	case int64:
		C.TF_SetAttrInt(description, cName, C.int64_t(value))
	case []int64:
		C.TF_SetAttrIntList(description, cName, (*C.int64_t)(unsafe.Pointer(first(value))), C.int(len(value)))
	case float32:
		C.TF_SetAttrFloat(description, cName, C.float(value))
	case []float32:
		C.TF_SetAttrFloatList(description, cName, (*C.float)(unsafe.Pointer(first(value))), C.int(len(value)))
	case bool:
		C.TF_SetAttrBool(description, cName, cBool(value))
	case []bool:
		values := make([]C.uchar, len(value))
		for i, b := range value {
			values[i] = cBool(b)
		}
		C.TF_SetAttrBoolList(description, cName, first(values), C.int(len(value)))
	case DataType:
		C.TF_SetAttrType(description, cName, C.TF_DataType(value))
	case []DataType:
		C.TF_SetAttrTypeList(description, cName, (*C.TF_DataType)(unsafe.Pointer(first(value))), C.int(len(value)))
	case Shape:
		C.TF_SetAttrShape(description, cName, cDims(value), C.int(value.NumDimensions()))
	case []Shape:
		setShapes(description, cName, value)
	case *Tensor:
		return check(func(status *C.TF_Status) {
			C.TF_SetAttrTensor(description, cName, value.c, status)
		})
	case []*Tensor:
		tensors := make([]*C.TF_Tensor, len(value))
		for i, tensor := range value {
			tensors[i] = tensor.c
		}
		return check(func(status *C.TF_Status) {
			C.TF_SetAttrTensorList(description, cName, first(tensors), C.int(len(value)), status)
		})
	}
	return nil
}

func cBool(value bool) C.uchar {
	if value {
		return 1
	}
	return 0
}

func cDims(shape Shape) *C.int64_t {
	return (*C.int64_t)(unsafe.Pointer(first(shape.dims)))
}

// setShapes copies the sizes into C memory, because C cannot follow a Go pointer to another one.
func setShapes(description *C.TF_OperationDescription, name *C.char, shapes []Shape) {
	dims, ranks := make([]*C.int64_t, len(shapes)), make([]C.int, len(shapes))
	for i, shape := range shapes {
		ranks[i] = C.int(shape.NumDimensions())
		copied := C.malloc(C.size_t(8 * (len(shape.dims) + 1)))
		defer C.free(copied)
		copy(unsafe.Slice((*int64)(copied), len(shape.dims)), shape.dims)
		dims[i] = (*C.int64_t)(copied)
	}
	C.TF_SetAttrShapeList(description, name, first(dims), first(ranks), C.int(len(shapes)))
}
