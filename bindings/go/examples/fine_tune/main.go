// SPDX-License-Identifier: Apache-2.0

// Command fine_tune trains a SavedModel further, such as one that Keras exported. It trains the
// signature "train" if there is one, and otherwise "serving_default".
//
//	fine_tune MODEL DATA BATCH RATE
//
// MODEL is the folder of the SavedModel; its variables are overwritten at the end. DATA
// is a folder with the training data of all steps as raw values: x, floats, and labels,
// 32-bit integers. BATCH is the number of examples per step, RATE the learning rate. It
// prints the loss of each step. TENSORFLOW_EXT_LIBRARY names libtensorflow_ext.so.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tensorflowext.org/go/tfext"
	"tensorflowext.org/go/train"

	tf "github.com/wamuir/graft/tensorflow"
	"github.com/wamuir/graft/tensorflow/op"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatalf("fine_tune: %v", err)
	}
	return value
}

// model is a SavedModel, the parts of its signature and its saver, and the training ops.
type model struct {
	*tf.SavedModel
	input, logits  tf.Output
	example        []int64         // the shape of the input, without the batch
	variables      []tf.Output     // the handles of the trainable variables
	copies         []*tf.Operation // run before the saver
	filename, save tf.Output
	labels, loss   tf.Output
	training       *train.Training
}

// info is what the library reads from a SavedModel's protocol buffers.
type info struct {
	lines     []string // the names of the signatures, variables and saver
	gradients []byte   // the model's own gradients (tf.custom_gradient), for Graph.Import
}

// compute runs a graph of its own, which add builds, and returns two tensors of it.
func compute(add func(scope *op.Scope) (tf.Output, tf.Output)) []*tf.Tensor {
	scope := op.NewScope()
	first, second := add(scope)
	session := must(tf.NewSession(must(scope.Finalize()), nil))
	defer session.Close()
	return must(session.Run(nil, []tf.Output{first, second}, nil))
}

// read returns the info of the model in a folder.
func read(folder string) *info {
	results := compute(func(scope *op.Scope) (tf.Output, tf.Output) {
		directory := op.Const(scope, folder)
		lines := tfext.DescribeSavedModel(scope, directory)
		gradients := tfext.SavedModelGradients(scope, directory)
		return lines, gradients
	})
	return &info{results[0].Value().([]string), []byte(results[1].Value().(string))}
}

// load loads a model and finds the parts that the training needs.
func load(folder string) *model {
	loaded := must(tf.LoadSavedModel(folder, []string{"serve"}, nil))
	found := read(folder)
	must(0, loaded.Graph.Import(found.gradients, ""))
	m := &model{SavedModel: loaded}
	signature := "serving_default"
	for _, line := range found.lines {
		if strings.HasPrefix(line, "signature\ttrain\t") {
			signature = "train"
		}
	}
	for _, line := range found.lines {
		field := strings.Split(line, "\t")
		switch {
		case field[0] == "saver" && field[1] == "filename":
			m.filename = m.tensor(field[2])
		case field[0] == "saver" && field[1] == "copy":
			m.copies = append(m.copies, m.Graph.Operation(field[2]))
		case field[0] == "saver" && field[1] == "save":
			m.save = m.tensor(field[2])
		case field[0] != "signature" || field[1] != signature:
		case field[2] == "input" && field[5] == "float" && m.input.Op == nil:
			m.input = m.tensor(field[4])
			m.example = exampleShape(field[6])
		case field[2] == "output" && m.logits.Op == nil:
			m.logits = m.tensor(field[4])
		case field[2] == "variable" && field[6] == "trainable":
			m.variables = append(m.variables, m.tensor(field[3]))
		case field[2] != "variable":
			log.Fatal("fine_tune: expected a signature with one input, of floats, and one output")
		}
	}
	if m.input.Op == nil || m.logits.Op == nil || m.save.Op == nil || len(m.variables) == 0 {
		log.Fatal("fine_tune: expected a model with a signature train or serving_default, trainable variables and a saver")
	}
	m.inlineCalls()
	return m
}

// inlineCalls adds a copy of the model's nodes to the graph, in which plain nodes replace the
// calls of functions, and uses it from now on. A copied variable is the same one to the session,
// because sessions know variables by the attribute shared_name.
func (m *model) inlineCalls() {
	var graphDef bytes.Buffer
	must(m.Graph.WriteTo(&graphDef))
	results := compute(func(scope *op.Scope) (tf.Output, tf.Output) {
		outputs := op.Const(scope.SubScope("outputs"), []string{name(m.logits)})
		return tfext.InlineCalls(scope, op.Const(scope, graphDef.String()), outputs)
	})
	nodes, inlined := results[0].Value().(string), results[1].Value().([]string)
	// The bytes of two messages are those of one that has the nodes of both.
	must(0, m.Graph.Import(append(graphDef.Bytes(), nodes...), "inlined"))
	m.input, m.logits = m.tensor("inlined/"+name(m.input)), m.tensor("inlined/"+inlined[0])
	for i, variable := range m.variables {
		m.variables[i] = m.tensor("inlined/" + name(variable))
	}
}

// name returns the name of a tensor, "node:index".
func name(tensor tf.Output) string {
	return fmt.Sprintf("%s:%d", tensor.Op.Name(), tensor.Index)
}

// tensor returns the tensor "node:index", or the first output of "node".
func (m *model) tensor(name string) tf.Output {
	node, index, _ := strings.Cut(name, ":")
	i, _ := strconv.Atoi(index)
	return m.Graph.Operation(node).Output(i)
}

// exampleShape reads a shape such as "[-1,8,8]"; the first size is the batch size.
func exampleShape(text string) []int64 {
	sizes := strings.Split(strings.Trim(text, "[]"), ",")
	example := make([]int64, len(sizes)-1)
	for i, size := range sizes[1:] {
		value, err := strconv.ParseInt(size, 10, 64)
		if err != nil || value < 1 {
			log.Fatalf("fine_tune: an input of shape %s: expected no unknown size except the batch", text)
		}
		example[i] = value
	}
	return example
}

// addTraining adds the loss, its gradients and the updates of the variables to the graph.
func (m *model) addTraining(rate float64) {
	scope := op.NewScopeWithGraph(m.Graph).SubScope("fine_tune")
	m.labels = op.Placeholder(scope, tf.Int32)
	losses, _ := op.SparseSoftmaxCrossEntropyWithLogits(scope, m.logits, m.labels)
	m.loss = op.Mean(scope, losses, op.Const(scope.SubScope("axis"), int32(0)))
	graph := must(scope.Finalize())
	sgd := train.NewSGD()
	sgd.LearningRate = train.Rate(rate)
	m.training = must(train.Minimize(graph, m.loss, m.variables, sgd))
	must(m.Session.Run(nil, nil, []*tf.Operation{m.training.Initialize}))
}

// step trains on a batch and returns the loss before it.
func (m *model) step(x, labels []byte, batch int64) float32 {
	feeds := map[tf.Output]*tf.Tensor{
		m.input:  must(tf.ReadTensor(tf.Float, append([]int64{batch}, m.example...), bytes.NewReader(x))),
		m.labels: must(tf.ReadTensor(tf.Int32, []int64{batch}, bytes.NewReader(labels))),
	}
	results := must(m.Session.Run(feeds, []tf.Output{m.loss}, []*tf.Operation{m.training.Step}))
	return results[0].Value().(float32)
}

// write saves the variables into the model's folder. Keras exports each variable twice:
// the signature uses one copy, and Python reads the other when it loads the model.
func (m *model) write(folder string) {
	must(m.Session.Run(nil, nil, m.copies))
	prefix := must(tf.NewTensor(filepath.Join(folder, "variables", "variables")))
	must(m.Session.Run(map[tf.Output]*tf.Tensor{m.filename: prefix}, []tf.Output{m.save}, nil))
}

func fineTune(folder, data string, batch int64, rate float64) {
	must(0, tfext.Load())
	m := load(folder)
	m.addTraining(rate)
	x := must(os.ReadFile(filepath.Join(data, "x")))
	labels := must(os.ReadFile(filepath.Join(data, "labels")))
	size, examples := int64(1), int64(len(labels)/4)
	for _, dim := range m.example {
		size *= dim
	}
	if int64(len(x)) != 4*size*examples || examples%batch != 0 {
		log.Fatalf("fine_tune: x has %d floats for %d labels; expected %d for each, and whole batches of %d",
			len(x)/4, examples, size, batch)
	}
	for i := int64(0); i < examples; i += batch {
		fmt.Printf("%.9g\n", m.step(x[4*size*i:4*size*(i+batch)], labels[4*i:4*(i+batch)], batch))
	}
	m.write(folder)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) == 5 {
		batch, batchErr := strconv.ParseInt(os.Args[3], 10, 64)
		rate, rateErr := strconv.ParseFloat(os.Args[4], 64)
		if batchErr == nil && rateErr == nil && batch > 0 {
			fineTune(os.Args[1], os.Args[2], batch, rate)
			return
		}
	}
	log.Print("usage: fine_tune MODEL DATA BATCH RATE")
	os.Exit(2)
}
