package tensorflow

// #include <stdlib.h>
// #include "tensorflow/c/c_api.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Operation is a node of a graph.
type Operation struct {
	c     *C.TF_Operation
	graph *Graph // lives as long as its operations
}

// Name returns the name of the node.
func (op *Operation) Name() string {
	defer runtime.KeepAlive(op)
	return C.GoString(C.TF_OperationName(op.c))
}

// Type returns the name of the op.
func (op *Operation) Type() string {
	defer runtime.KeepAlive(op)
	return C.GoString(C.TF_OperationOpType(op.c))
}

// NumOutputs counts the outputs, each element of a list separately.
func (op *Operation) NumOutputs() int {
	defer runtime.KeepAlive(op)
	return int(C.TF_OperationNumOutputs(op.c))
}

// Output returns the output of this index.
func (op *Operation) Output(i int) Output { return Output{op, i} }

// OutputListSize returns the number of elements in the list of outputs of this name.
func (op *Operation) OutputListSize(output string) (int, error) {
	defer runtime.KeepAlive(op)
	cName := C.CString(output)
	defer C.free(unsafe.Pointer(cName))
	var size C.int
	err := check(func(status *C.TF_Status) {
		size = C.TF_OperationOutputListLength(op.c, cName, status)
	})
	return int(size), err
}

// Output is a tensor of a graph: one output of one operation. AddGradients uses the index -1 for a
// missing one.
type Output struct {
	Op    *Operation
	Index int
}

// DataType returns the type of the tensor.
func (p Output) DataType() DataType {
	defer runtime.KeepAlive(p.Op)
	return DataType(C.TF_OperationOutputType(p.c()))
}

// Shape returns the known part of the tensor's shape.
func (p Output) Shape() Shape {
	defer runtime.KeepAlive(p.Op)
	var shape Shape
	_ = check(func(status *C.TF_Status) { // The tensor is one of the graph.
		rank := C.TF_GraphGetTensorNumDims(p.Op.graph.c, p.c(), status)
		if shape.known = rank >= 0; rank > 0 {
			shape.dims = make([]int64, rank)
			sizes := (*C.int64_t)(unsafe.Pointer(first(shape.dims)))
			C.TF_GraphGetTensorShape(p.Op.graph.c, p.c(), sizes, rank, status)
		}
	})
	return shape
}

// Consumer is an input of an operation that takes an output of another.
type Consumer struct {
	Op    *Operation
	Index int
}

// Consumers returns the inputs that take this tensor.
func (p Output) Consumers() []Consumer {
	defer runtime.KeepAlive(p.Op)
	inputs := make([]C.TF_Input, C.TF_OperationOutputNumConsumers(p.c()))
	found := C.TF_OperationOutputConsumers(p.c(), first(inputs), C.int(len(inputs)))
	var consumers []Consumer
	for _, input := range inputs[:found] {
		consumers = append(consumers, Consumer{&Operation{input.oper, p.Op.graph}, int(input.index)})
	}
	return consumers
}

// OutputList is a list of tensors for an op that takes one.
type OutputList []Output

// Input is an Output or an OutputList.
type Input interface {
	// outputs returns the tensors, and true if they are a list.
	outputs() ([]Output, bool)
}

func (p Output) outputs() ([]Output, bool)     { return []Output{p}, false }
func (l OutputList) outputs() ([]Output, bool) { return l, true }

func (p Output) c() C.TF_Output {
	return C.TF_Output{oper: p.Op.c, index: C.int(p.Index)}
}

// cOutputs returns the tensors for C, which does not check whether they exist.
func cOutputs(outputs []Output, what string) ([]C.TF_Output, error) {
	found := make([]C.TF_Output, len(outputs))
	for i, output := range outputs {
		if output.Op == nil || output.Op.c == nil {
			return nil, fmt.Errorf("%s %d is no tensor: expected the output of an operation", what, i)
		}
		if count := output.Op.NumOutputs(); output.Index < 0 || output.Index >= count {
			return nil, fmt.Errorf("%s %d is output %d of %s; expected one of its %d",
				what, i, output.Index, output.Op.Name(), count)
		}
		found[i] = output.c()
	}
	return found, nil
}

// cOperations returns the nodes for C.
func cOperations(operations []*Operation, what string) ([]*C.TF_Operation, error) {
	found := make([]*C.TF_Operation, len(operations))
	for i, operation := range operations {
		if operation == nil || operation.c == nil {
			return nil, fmt.Errorf("%s %d is no operation", what, i)
		}
		found[i] = operation.c
	}
	return found, nil
}

// first returns the start of a slice for C; nil for an empty one.
func first[T any](slice []T) *T {
	if len(slice) == 0 {
		return nil
	}
	return &slice[0]
}
