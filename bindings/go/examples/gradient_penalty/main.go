// Command gradient_penalty trains a network whose loss contains a gradient: the norm of the output's
// gradient by the input must be near 1. Training takes the gradient of that gradient. It prints the
// loss of each step. examples/training/reference.py is the same in Python. TENSORFLOW_EXT_LIBRARY
// names libtensorflow_ext.so.
package main

import (
	"fmt"
	"log"

	tf "github.com/wamuir/graft/tensorflow"
	"github.com/wamuir/graft/tensorflow/op"
	"tensorflowext.org/go/tfext"
	"tensorflowext.org/go/train"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatalf("gradient_penalty: %v", err)
	}
	return value
}

func main() {
	log.SetFlags(0)
	must(0, tfext.Load())
	graph := tf.NewGraph()
	variables := must(train.NewVariables(graph, []train.VariableSpec{
		{Name: "hidden/kernel", DType: tf.Float, Shape: []int64{4, 16}, Initializer: train.NewGlorotUniform().WithSeed(1)},
		{Name: "hidden/bias", DType: tf.Float, Shape: []int64{16}, Initializer: train.NewZeros()},
		{Name: "output/kernel", DType: tf.Float, Shape: []int64{16, 1}, Initializer: train.NewGlorotUniform().WithSeed(2)},
		{Name: "output/bias", DType: tf.Float, Shape: []int64{1}, Initializer: train.NewZeros()},
	}))
	scope := op.NewScopeWithGraph(graph)
	// Operations of one type need scopes of their own.
	part := func() *op.Scope { return scope.SubScope("part") }
	constant := func(value interface{}) tf.Output { return op.Const(part(), value) }
	dense := func(x tf.Output, first int) tf.Output {
		within := part()
		kernel := op.ReadVariableOp(within.SubScope("kernel"), variables.Handles[first], tf.Float)
		bias := op.ReadVariableOp(within.SubScope("bias"), variables.Handles[first+1], tf.Float)
		return op.BiasAdd(within, op.MatMul(within, x, kernel), bias)
	}
	seed := op.Placeholder(scope, tf.Int64)
	x := op.StatelessRandomNormal(scope, constant([]int32{64, 4}), seed)
	target := op.Sin(scope, op.Sum(part(), x, constant(int32(1)), op.SumKeepDims(true)))
	y := dense(op.Tanh(scope, dense(x, 0)), 2)
	dx := tfext.Gradients(scope, []tf.Output{y}, []tf.Output{x})
	norm := op.Sqrt(scope, op.Sum(part(), op.Square(scope, dx[0]), constant(int32(1))))
	penalty := op.Mean(part(), op.SquaredDifference(part(), norm, constant(float32(1))), constant(int32(0)))
	mean := op.Mean(part(), op.SquaredDifference(part(), y, target), constant([]int32{0, 1}))
	loss := op.Add(scope, mean, op.Mul(scope, penalty, constant(float32(0.1))))
	must(scope.Finalize())

	sgd := train.NewSGD()
	sgd.LearningRate, sgd.Momentum = train.Rate(0.05), 0.9
	training := must(train.Minimize(graph, loss, variables.Handles, sgd))
	session := must(tf.NewSession(graph, nil))
	must(session.Run(nil, nil, []*tf.Operation{variables.Initialize, training.Initialize}))
	for step := int64(0); step < 100; step++ {
		feeds := map[tf.Output]*tf.Tensor{seed: must(tf.NewTensor([]int64{step, 7}))}
		results := must(session.Run(feeds, []tf.Output{loss}, []*tf.Operation{training.Step}))
		fmt.Printf("%.9g\n", results[0].Value())
	}
}
