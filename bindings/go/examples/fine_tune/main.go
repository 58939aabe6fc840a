// Command fine_tune trains a SavedModel further, such as one that Keras exported. It trains the
// signature "train" if there is one, and otherwise "serving_default".
//
//	fine_tune MODEL DATA BATCH RATE [SAVED]
//
// MODEL is the folder of the SavedModel. The trained one goes to the folder SAVED, or to MODEL,
// whose variables it overwrites. DATA is a folder with the training data of all steps as raw
// values: x, floats, and labels, 32-bit integers. BATCH is the number of examples per step, RATE
// the learning rate. It prints the loss of each step. TENSORFLOW_EXT_LIBRARY names
// libtensorflow_ext.so.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"

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

// only returns the tensor of a signature that has one.
func only(tensors map[string]tf.Output) (tensor tf.Output) {
	if len(tensors) != 1 {
		log.Fatalf("fine_tune: expected a signature with one input and one output, got %d", len(tensors))
	}
	for _, tensor = range tensors {
	}
	return
}

func fineTune(folder, data string, batch int64, rate float64, saved string) {
	must(0, tfext.Load())
	model := must(train.LoadModel(folder, ""))
	defer model.Close()
	input, logits := only(model.Inputs), only(model.Outputs)

	scope := op.NewScopeWithGraph(model.Graph).SubScope("fine_tune")
	labels := op.Placeholder(scope, tf.Int32)
	losses, _ := op.SparseSoftmaxCrossEntropyWithLogits(scope, logits, labels)
	loss := op.Mean(scope, losses, op.Const(scope.SubScope("axis"), int32(0)))
	must(scope.Finalize())
	sgd := train.NewSGD()
	sgd.LearningRate = train.Rate(rate)
	training := must(train.Minimize(model.Graph, loss, model.Variables, sgd))
	must(model.Session.Run(nil, nil, []*tf.Operation{training.Initialize}))

	xs := bytes.NewReader(must(os.ReadFile(filepath.Join(data, "x"))))
	expected := bytes.NewReader(must(os.ReadFile(filepath.Join(data, "labels"))))
	shape, examples, size := must(input.Shape().ToSlice()), int64(expected.Len()/4), 1
	for _, dim := range shape[1:] {
		size *= int(dim)
	}
	shape[0] = batch
	if xs.Len() != size*expected.Len() || examples%batch != 0 {
		log.Fatalf("fine_tune: x has %d floats for %d labels; expected %d for each, and whole batches of %d",
			xs.Len()/4, examples, size, batch)
	}
	for ; examples > 0; examples -= batch {
		feeds := map[tf.Output]*tf.Tensor{
			input:  must(tf.ReadTensor(tf.Float, shape, xs)),
			labels: must(tf.ReadTensor(tf.Int32, []int64{batch}, expected)),
		}
		results := must(model.Session.Run(feeds, []tf.Output{loss}, []*tf.Operation{training.Step}))
		fmt.Printf("%.9g\n", results[0].Value())
	}
	must(0, model.Save(saved))
}

func main() {
	log.SetFlags(0)
	if n := len(os.Args); n == 5 || n == 6 {
		batch, _ := strconv.ParseInt(os.Args[3], 10, 64)
		rate, err := strconv.ParseFloat(os.Args[4], 64)
		if batch > 0 && err == nil {
			saved := append(os.Args, os.Args[1])[5]
			fineTune(os.Args[1], os.Args[2], batch, rate, saved)
			return
		}
	}
	log.Print("usage: fine_tune MODEL DATA BATCH RATE [SAVED]")
	os.Exit(2)
}
