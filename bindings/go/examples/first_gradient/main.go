// Command first_gradient prints mish(x) and its gradient.
package main

import (
	"fmt"
	"log"

	"tensorflowext.org/go/tfext"

	tf "github.com/wamuir/graft/tensorflow"
	"github.com/wamuir/graft/tensorflow/op"
)

func main() {
	if err := tfext.Load(); err != nil {
		log.Fatal(err)
	}

	scope := op.NewScope()
	x := op.Placeholder(scope, tf.Float)
	y := tfext.Mish(scope, x)
	gradients := tfext.Gradients(scope, []tf.Output{y}, []tf.Output{x})
	graph, err := scope.Finalize()
	if err != nil {
		log.Fatal(err)
	}

	session, err := tf.NewSession(graph, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	fed, err := tf.NewTensor([]float32{0, 1})
	if err != nil {
		log.Fatal(err)
	}
	results, err := session.Run(map[tf.Output]*tf.Tensor{x: fed}, []tf.Output{y, gradients[0]}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results[0].Value(), results[1].Value()) // [0 0.8650984] [0.6 1.0490363]
}
