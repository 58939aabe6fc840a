// Command train_digits trains the network of examples/digits/network.py from Go.
//
//	train_digits LIBRARY FOLDER
//
// LIBRARY is libtensorflow_ext.so. FOLDER holds the data as package wire reads tensors:
// the batches (x, label, domain, with a leading axis of steps) and the settings (settings:
// learning rate, momentum, levels, reverse scale). It prints the loss of each step.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	tf "github.com/wamuir/graft/tensorflow"
	"github.com/wamuir/graft/tensorflow/op"
	"tensorflowext.org/go/tfext"
	"tensorflowext.org/go/train"
	"tensorflowext.org/go/wire"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatalf("train_digits: %v", err)
	}
	return value
}

// read reads a file that holds a tensor.
func read(path string) *tf.Tensor {
	file := must(os.Open(path))
	defer file.Close()
	decoder := wire.NewDecoder(file)
	tensor := decoder.Tensor()
	if err := decoder.Err(); err != nil {
		log.Fatalf("train_digits: %s: expected a tensor: %v", path, err)
	}
	return tensor
}

// steps returns the slices of a tensor along its first axis.
func steps(tensor *tf.Tensor) []*tf.Tensor {
	var content bytes.Buffer
	must(tensor.WriteContentsTo(&content))
	slices := make([]*tf.Tensor, tensor.Shape()[0])
	for i := range slices {
		slices[i] = must(tf.ReadTensor(tensor.DataType(), tensor.Shape()[1:], &content))
	}
	return slices
}

// network has the tensors of a graph that its session feeds and fetches.
type network struct {
	x, label, domain, loss tf.Output
}

// newVariables adds the kernel and bias of each layer, with the initial values of Keras.
func newVariables(graph *tf.Graph) *train.Variables {
	var specs []train.VariableSpec
	for i, shape := range [][]int64{{64, 128}, {128, 64}, {64, 10}, {64, 2}} {
		layer := fmt.Sprintf("layer_%d/", i)
		specs = append(specs,
			train.VariableSpec{Name: layer + "kernel", DType: tf.Double, Shape: shape, Initializer: train.NewGlorotUniform().WithSeed(i)},
			train.VariableSpec{Name: layer + "bias", DType: tf.Double, Shape: shape[1:], Initializer: train.NewZeros()})
	}
	return must(train.NewVariables(graph, specs))
}

func dense(scope *op.Scope, x, weights, bias tf.Output) tf.Output {
	return op.BiasAdd(scope, op.MatMul(scope, x, weights), bias)
}

// crossEntropy returns the mean over the batch.
func crossEntropy(scope *op.Scope, logits, labels tf.Output) tf.Output {
	losses, _ := op.SparseSoftmaxCrossEntropyWithLogits(scope, logits, labels)
	return op.Mean(scope, losses, op.Const(scope, int32(0)))
}

// build adds the network of these variables to the scope's graph.
func build(scope *op.Scope, variables []tf.Output, settings []float64) *network {
	n := &network{
		x:      op.Placeholder(scope.SubScope("x"), tf.Double),
		label:  op.Placeholder(scope.SubScope("label"), tf.Int32),
		domain: op.Placeholder(scope.SubScope("domain"), tf.Int32),
	}
	reverseScale := float32(settings[3])
	var weights []tf.Output
	for _, handle := range variables {
		weights = append(weights, op.ReadVariableOp(scope.SubScope("read"), handle, tf.Double))
	}

	first := scope.SubScope("first")
	hidden := tfext.Relu(first, dense(first, n.x, weights[0], weights[1]))
	second := scope.SubScope("second")
	hidden = tfext.Relu(second, dense(second, hidden, weights[2], weights[3]))
	// Activations with `levels` steps per unit: rounded in the forward pass, the identity in the
	// gradient.
	levels := op.Const(second, settings[2])
	features := op.Div(second, tfext.RoundStraightThrough(second, op.Mul(second, hidden, levels)), levels)
	labels := scope.SubScope("labels")
	logits := dense(labels, features, weights[4], weights[5])
	domains := scope.SubScope("domains")
	reversed := tfext.ReverseGradient(domains, features, tfext.ReverseGradientScale(reverseScale))
	domainLogits := dense(domains, reversed, weights[6], weights[7])
	n.loss = op.Add(scope, crossEntropy(labels, logits, n.label), crossEntropy(domains, domainLogits, n.domain))
	return n
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Print("usage: train_digits LIBRARY FOLDER")
		os.Exit(2)
	}
	must(tf.LoadLibrary(os.Args[1]))
	folder := os.Args[2]
	settings, isVector := read(filepath.Join(folder, "settings")).Value().([]float64)
	if !isVector || len(settings) != 4 {
		log.Fatalf("train_digits: %s/settings: expected a tensor of 4 doubles", folder)
	}
	batches := map[string][]*tf.Tensor{}
	for _, name := range []string{"x", "label", "domain"} {
		batches[name] = steps(read(filepath.Join(folder, name)))
	}

	graph := tf.NewGraph()
	variables := newVariables(graph)
	scope := op.NewScopeWithGraph(graph)
	n := build(scope, variables.Handles, settings)
	must(scope.Finalize())
	sgd := train.NewSGD()
	sgd.LearningRate, sgd.Momentum = train.Rate(settings[0]), settings[1]
	training := must(train.Minimize(graph, n.loss, variables.Handles, sgd))
	session := must(tf.NewSession(graph, nil))
	must(session.Run(nil, nil, []*tf.Operation{variables.Initialize, training.Initialize}))
	for i := range batches["x"] {
		feeds := map[tf.Output]*tf.Tensor{
			n.x: batches["x"][i], n.label: batches["label"][i], n.domain: batches["domain"][i],
		}
		losses := must(session.Run(feeds, []tf.Output{n.loss}, []*tf.Operation{training.Step}))
		fmt.Printf("%.17g\n", losses[0].Value())
	}
}
