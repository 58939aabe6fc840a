package tensorflow

// #include <stdlib.h>
// #include "tensorflow/c/c_api.h"
import "C"

import (
	"io"
	"runtime"
	"unsafe"
)

// Graph is a graph of operations. Goroutines may share it.
type Graph struct {
	c *C.TF_Graph
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	graph := &Graph{C.TF_NewGraph()}
	runtime.SetFinalizer(graph, func(g *Graph) { C.TF_DeleteGraph(g.c) })
	return graph
}

// GraphImportOptions say how ImportWithOptions adds nodes.
type GraphImportOptions struct {
	// Prefix goes before the names of the nodes.
	Prefix string

	inputs []inputMapping
}

type inputMapping struct {
	name   string
	index  int
	tensor Output
}

// AddInputMapping lets the imported nodes read dst where they read output srcIndex of the node src.
func (o *GraphImportOptions) AddInputMapping(src string, srcIndex int, dst Output) {
	o.inputs = append(o.inputs, inputMapping{src, srcIndex, dst})
}

// Import adds the nodes of a serialized GraphDef, with the prefix before their names.
func (g *Graph) Import(def []byte, prefix string) error {
	return g.ImportWithOptions(def, GraphImportOptions{Prefix: prefix})
}

// ImportWithOptions adds the nodes of a serialized GraphDef.
func (g *Graph) ImportWithOptions(def []byte, options GraphImportOptions) error {
	defer runtime.KeepAlive(g)
	cOptions := C.TF_NewImportGraphDefOptions()
	defer C.TF_DeleteImportGraphDefOptions(cOptions)
	prefix := C.CString(options.Prefix)
	defer C.free(unsafe.Pointer(prefix))
	C.TF_ImportGraphDefOptionsSetPrefix(cOptions, prefix)
	for _, input := range options.inputs {
		name := C.CString(input.name)
		defer C.free(unsafe.Pointer(name))
		C.TF_ImportGraphDefOptionsAddInputMapping(cOptions, name, C.int(input.index), input.tensor.c())
	}
	buffer := C.TF_NewBufferFromString(unsafe.Pointer(first(def)), C.size_t(len(def)))
	defer C.TF_DeleteBuffer(buffer)
	return check(func(status *C.TF_Status) {
		C.TF_GraphImportGraphDef(g.c, buffer, cOptions, status)
	})
}

// WriteTo writes the graph as a serialized GraphDef.
func (g *Graph) WriteTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(g)
	buffer := C.TF_NewBuffer()
	defer C.TF_DeleteBuffer(buffer)
	err := check(func(status *C.TF_Status) { C.TF_GraphToGraphDef(g.c, buffer, status) })
	if err != nil {
		return 0, err
	}
	written, err := w.Write(C.GoBytes(buffer.data, C.int(buffer.length)))
	return int64(written), err
}

// Operation returns the node of this name, or nil if there is none.
func (g *Graph) Operation(name string) *Operation {
	defer runtime.KeepAlive(g)
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	if found := C.TF_GraphOperationByName(g.c, cName); found != nil {
		return &Operation{found, g}
	}
	return nil
}

// AddGradients adds the gradients of the sum of the ys with respect to each x. dx has an upstream
// gradient for each y; an empty dx means ones. An x that has no gradient gets an Output of index
// -1.
func (g *Graph) AddGradients(prefix string, y, x, dx []Output) ([]Output, error) {
	defer runtime.KeepAlive(g)
	ys, err := cOutputs(y, "y")
	if err != nil {
		return nil, err
	}
	xs, err := cOutputs(x, "x")
	if err != nil {
		return nil, err
	}
	dxs, err := cOutputs(dx, "upstream gradient")
	if err != nil {
		return nil, err
	}
	var cPrefix *C.char // A null pointer lets TensorFlow choose.
	if prefix != "" {
		cPrefix = C.CString(prefix)
		defer C.free(unsafe.Pointer(cPrefix))
	}
	found := make([]C.TF_Output, len(x))
	err = check(func(status *C.TF_Status) {
		C.TF_AddGradientsWithPrefix(g.c, cPrefix, first(ys), C.int(len(ys)),
			first(xs), C.int(len(xs)), first(dxs), status, first(found))
	})
	if err != nil {
		return nil, err
	}
	gradients := make([]Output, len(x))
	for i, output := range found {
		gradients[i] = Output{&Operation{output.oper, g}, int(output.index)}
	}
	return gradients, nil
}
