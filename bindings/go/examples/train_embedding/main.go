// Command train_embedding trains an embedding table and a head lazily: a step changes only the rows
// that it gathers.
//
//	train_embedding PREFIX
//
// It prints the loss of each step, and writes a checkpoint. examples/training/reference.py is the
// same in Python. TENSORFLOW_EXT_LIBRARY names libtensorflow_ext.so.
package main

import (
	"fmt"
	"log"
	"os"

	tf "github.com/wamuir/graft/tensorflow"
	"github.com/wamuir/graft/tensorflow/op"
	"tensorflowext.org/go/tfext"
	"tensorflowext.org/go/train"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatalf("train_embedding: %v", err)
	}
	return value
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: train_embedding PREFIX")
	}
	must(0, tfext.Load())
	graph := tf.NewGraph()
	variables := must(train.NewVariables(graph, []train.VariableSpec{
		{Name: "embedding/table", DType: tf.Float, Shape: []int64{1000, 8}, Initializer: train.NewRandomUniform().WithSeed(1)},
		{Name: "head/kernel", DType: tf.Float, Shape: []int64{8, 3}, Initializer: train.NewGlorotUniform().WithSeed(2)},
		{Name: "head/bias", DType: tf.Float, Shape: []int64{3}, Initializer: train.NewZeros()},
	}))
	scope := op.NewScopeWithGraph(graph)
	read := func(i int) tf.Output {
		return op.ReadVariableOp(scope.SubScope("read"), variables.Handles[i], tf.Float)
	}
	constant := func(value interface{}) tf.Output { return op.Const(scope.SubScope("constant"), value) }
	seed := op.Placeholder(scope, tf.Int64)
	ids := op.StatelessRandomUniformInt(scope, constant([]int32{64}), seed, constant(int32(0)), constant(int32(1000)))
	rows := op.ResourceGather(scope, variables.Handles[0], ids, tf.Float)
	logits := op.BiasAdd(scope, op.MatMul(scope, rows, read(1)), read(2))
	losses, _ := op.SparseSoftmaxCrossEntropyWithLogits(scope, logits, op.FloorMod(scope, ids, constant(int32(3))))
	loss := op.Mean(scope, losses, constant(int32(0)))
	must(scope.Finalize())

	adam := train.NewAdam()
	adam.LearningRate, adam.Lazy = train.Rate(0.02), true
	training := must(train.Minimize(graph, loss, variables.Handles, adam))
	saver := must(train.AddSaver(graph, append(variables.Saved(), training.Saved("optimizer")...)))
	session := must(tf.NewSession(graph, nil))
	must(session.Run(nil, nil, []*tf.Operation{variables.Initialize, training.Initialize}))
	for step := int64(0); step < 100; step++ {
		feeds := map[tf.Output]*tf.Tensor{seed: must(tf.NewTensor([]int64{step, 7}))}
		results := must(session.Run(feeds, []tf.Output{loss}, []*tf.Operation{training.Step}))
		fmt.Printf("%.9g\n", results[0].Value())
	}
	must(0, saver.Save(session, os.Args[1]))
}
