// Use_wrappers prints what the functions beside the typed ops give: NAME NUMBER... for gradients, with
// "none" for one that is not there; NAME! MESSAGE for an error. tests/wrappers checks them.
//
//	use_wrappers          loads the library that TENSORFLOW_EXT_LIBRARY names, and tests gradients
//	use_wrappers load     only loads it
//	use_wrappers load F   loads the file F
package main

import (
	"fmt"
	"log"
	"math"
	"os"
	"strings"

	tf "github.com/wamuir/graft/tensorflow"
	"github.com/wamuir/graft/tensorflow/op"
	"tensorflowext.org/go/tfext"
	"tensorflowext.org/go/train"
)

func main() {
	if len(os.Args) > 1 {
		err := tfext.Load()
		if len(os.Args) > 2 {
			err = tfext.LoadFile(os.Args[2])
		}
		printError("load", err)
		return
	}
	for i := 0; i < 2; i++ {
		if err := tfext.Load(); err != nil {
			log.Fatal(err)
		}
	}
	gradients()
	errors()
	training()
}

func printError(name string, err error) {
	if err == nil {
		fmt.Println(name)
	} else {
		// A scope's error also holds a stack trace.
		text, _, _ := strings.Cut(err.Error(), " (Stacktrace")
		fmt.Printf("%s! %s\n", name, text)
	}
}

// print runs tensors and prints their values.
func print(session *tf.Session, name string, tensors []tf.Output) {
	line := name
	for _, tensor := range tensors {
		if tensor.Op == nil {
			line += " none"
			continue
		}
		fetched, err := session.Run(nil, []tf.Output{tensor}, nil)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		line += " " + strings.Trim(fmt.Sprint(fetched[0].Value()), "[]")
	}
	fmt.Println(line)
}

func gradients() {
	scope := op.NewScope()
	x := op.Const(scope.SubScope("x"), []float64{1, 2, 3})
	w := op.Const(scope.SubScope("w"), []float64{4, 5, 6})
	list := func(tensors ...tf.Output) []tf.Output { return tensors }
	unread := op.VarHandleOp(scope.SubScope("unread"), tf.Double, tf.MakeShape(3))
	square := op.Mul(scope.SubScope("square"), x, x)
	product := op.Mul(scope.SubScope("product"), x, w)

	names := []string{}
	found := map[string][]tf.Output{}
	add := func(name string, gradients []tf.Output) {
		names = append(names, name)
		found[name] = gradients
	}
	add("several", tfext.Gradients(scope, list(product), list(x, w, x)))
	add("unconnected", tfext.Gradients(scope, list(square), list(w, x, unread)))
	add("all_unconnected", tfext.Gradients(scope, list(square), list(w, unread)))
	add("y_itself", tfext.Gradients(scope, list(square), list(square)))
	add("upstream", tfext.Gradients(scope, list(square, product), list(x), w, x))
	add("upstream_of_x", tfext.Gradients(scope, list(square), list(x, w), x))
	first := tfext.Gradients(scope, list(square), list(x), w)
	add("by_upstream", tfext.Gradients(scope, first, list(w)))

	graph, err := scope.Finalize()
	if err != nil {
		log.Fatal(err)
	}
	session, err := tf.NewSession(graph, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range names {
		print(session, name, found[name])
	}
}

// training minimizes x * x + x from x = 3 with a scaled loss, and prints x.
func training() {
	graph := tf.NewGraph()
	variables, err := train.NewVariables(graph, []train.VariableSpec{
		{Name: "x", DType: tf.Double, Initializer: train.NewConstant()},
		{Name: "start", DType: tf.Double, Initializer: train.Serialized("ones")},
	})
	if err != nil {
		log.Fatal(err)
	}
	scope := op.NewScopeWithGraph(graph)
	start := op.AssignVariableOp(scope, variables.Handles[0], op.Const(scope.SubScope("three"), 3.0))
	x := op.ReadVariableOp(scope, variables.Handles[0], tf.Double)
	loss := op.Add(scope, op.Mul(scope, x, x), x)
	sgd := train.NewSGD()
	_, err = train.Minimize(graph, loss, variables.Handles[:1], train.SGD{})
	printError("not_made", err)
	_, err = train.Minimize(graph, loss, []tf.Output{variables.Handles[0], variables.Handles[0]}, sgd)
	printError("same_variable", err)
	sgd.LearningRate = train.NewCosineDecay(math.NaN(), 1)
	_, err = train.Minimize(graph, loss, variables.Handles[:1], sgd)
	printError("not_finite", err)
	_, err = train.NewVariables(graph, []train.VariableSpec{{Name: "x", DType: tf.Double}})
	printError("no_initializer", err)
	sgd.LearningRate = train.Rate(0.25)
	training, err := train.Minimize(graph, loss, variables.Handles[:1], train.NewLossScaleOptimizer(sgd))
	if err != nil {
		log.Fatal(err)
	}
	saved := append(variables.Saved(), training.Saved("optimizer")...)
	saver, err := train.AddSaver(graph, saved)
	if err != nil {
		log.Fatal(err)
	}
	session, err := tf.NewSession(graph, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, target := range []*tf.Operation{variables.Initialize, training.Initialize, start, training.Step, training.Step} {
		if _, err := session.Run(nil, nil, []*tf.Operation{target}); err != nil {
			log.Fatal(err)
		}
	}
	print(session, "loss_scale", []tf.Output{x})
	line := "saved"
	for _, variable := range saved {
		line += " " + variable.Name
	}
	fmt.Println(line)
	printError("no_file", saver.Restore(session, "/nowhere/model"))
}

func errors() {
	scope := op.NewScope()
	x := op.Const(scope, []float64{1, 2, 3})
	if gradients := tfext.Gradients(scope, []tf.Output{x}, []tf.Output{{}}); len(gradients) != 1 || gradients[0].Op != nil {
		log.Fatal("expected a gradient that is not there")
	}
	printError("no_x", scope.Err())
	scope = op.NewScope()
	x = op.Const(scope, 1.0)
	tfext.Gradients(scope, []tf.Output{x}, []tf.Output{x}, x, x)
	printError("upstream_number", scope.Err())
}
