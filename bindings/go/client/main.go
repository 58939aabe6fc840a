// Command client is a client in Go: it answers the requests of the judge.
// tests/clients/README.md describes the protocol.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"

	tf "github.com/wamuir/graft/tensorflow"
	"github.com/wamuir/graft/tensorflow/op"
	"tensorflowext.org/go/wire"
)

// TensorFlow's codes for errors that this program itself finds.
const (
	unknown            = 2
	notFound           = 5
	failedPrecondition = 9
)

// failure is an error with one of TensorFlow's codes.
type failure struct {
	code    int64
	message string
}

func (f *failure) Error() string { return f.message }

// code returns the code of an error for an answer.
func code(err error) int64 {
	var own *failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &own):
		return own.code
	}
	return wire.Code(err, unknown)
}

// client is the state between requests.
type client struct {
	target  string // target of sessions for imported graphs
	graph   *tf.Graph
	session *tf.Session
}

// use makes this the current graph.
func (c *client) use(graph *tf.Graph, session *tf.Session) {
	if c.session != nil {
		c.session.Close()
	}
	c.graph, c.session = graph, session
}

// imported is a graph, with a session if it has one.
func imported(def []byte, target string) (*tf.Graph, *tf.Session, error) {
	graph := tf.NewGraph()
	if err := graph.Import(def, ""); err != nil {
		return graph, nil, err
	}
	session, err := tf.NewSession(graph, &tf.SessionOptions{Target: target})
	return graph, session, err
}

// loaded is a SavedModel, which uses the gradients that it brings.
func loaded(folder string) (*tf.SavedModel, error) {
	model, err := tf.LoadSavedModel(folder, []string{"serve"}, nil)
	if err != nil {
		return nil, err
	}
	gradients, err := gradientsOf(folder)
	if err != nil {
		return nil, err
	}
	return model, model.Graph.Import(gradients, "")
}

// gradientsOf returns the gradients that a SavedModel brings, as a serialized GraphDef.
func gradientsOf(folder string) ([]byte, error) {
	scope := op.NewScope()
	directory := op.Const(scope, folder)
	read := scope.AddOperation(tf.OpSpec{Type: "TfExt>SavedModelGradients", Input: []tf.Input{directory}})
	graph, err := scope.Finalize()
	if err != nil {
		return nil, err
	}
	session, err := tf.NewSession(graph, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	results, err := session.Run(nil, []tf.Output{read.Output(0)}, nil)
	if err != nil {
		return nil, err
	}
	return []byte(results[0].Value().(string)), nil
}

// find looks up tensors by their names, "node:index".
func find(graph *tf.Graph, names []string) ([]tf.Output, error) {
	outputs := make([]tf.Output, len(names))
	for i, name := range names {
		colon := strings.LastIndex(name, ":")
		if colon < 0 {
			return nil, &failure{notFound, name}
		}
		index, err := strconv.Atoi(name[colon+1:])
		operation := graph.Operation(name[:colon])
		if err != nil || operation == nil {
			return nil, &failure{notFound, name}
		}
		outputs[i] = operation.Output(index)
	}
	return outputs, nil
}

// addGradients adds gradients of named tensors.
func addGradients(graph *tf.Graph, ys, xs, upstreams []string) ([]tf.Output, error) {
	var found [3][]tf.Output
	for i, names := range [][]string{ys, xs, upstreams} {
		var err error
		if found[i], err = find(graph, names); err != nil {
			return nil, err
		}
	}
	return graph.AddGradients("", found[0], found[1], found[2])
}

// feed is a tensor, and the name of the tensor that it is fed to.
type feed struct {
	name   string
	tensor *tf.Tensor
}

// readFeeds reads a list of feeds.
func readFeeds(in *wire.Decoder) []feed {
	return wire.List(in, func() feed { return feed{in.String(), in.Tensor()} })
}

// run runs a graph once.
func run(graph *tf.Graph, session *tf.Session, feeds []feed, fetches []tf.Output) ([]*tf.Tensor, error) {
	if session == nil {
		return nil, &failure{failedPrecondition, "there is no graph to run"}
	}
	values := map[tf.Output]*tf.Tensor{}
	for _, fed := range feeds {
		outputs, err := find(graph, []string{fed.name})
		if err != nil {
			return nil, err
		}
		values[outputs[0]] = fed.tensor
	}
	return session.Run(values, fetches, nil)
}

// differentiate imports a graph and runs its gradients.
func differentiate(def []byte, ys, xs, upstreams []string, feeds []feed, target string) ([]*tf.Tensor, error) {
	graph, session, err := imported(def, target)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	gradients, err := addGradients(graph, ys, xs, upstreams)
	if err != nil {
		return nil, err
	}
	return run(graph, session, feeds, gradients)
}

// inThreads calls the function that many times concurrently.
func inThreads(count int64, call func() ([]*tf.Tensor, error)) ([][]*tf.Tensor, error) {
	results, errs := make([][]*tf.Tensor, count), make([]error, count)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range results {
		running.Add(1)
		go func(i int) {
			defer running.Done()
			<-start
			results[i], errs[i] = call()
		}(i)
	}
	close(start)
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// A reply writes the part of an answer after the status.
type reply func(*wire.Encoder)

func nothing(*wire.Encoder) {}

func tensors(values []*tf.Tensor) reply {
	return func(out *wire.Encoder) { out.Tensors(values) }
}

// requests read their arguments and return the reply.
var requests = map[string]func(in *wire.Decoder) func(*client) (reply, error){
	"library": func(in *wire.Decoder) func(*client) (reply, error) {
		path := in.String()
		return func(*client) (reply, error) {
			_, err := tf.LoadLibrary(path)
			return nothing, err
		}
	},
	"import": func(in *wire.Decoder) func(*client) (reply, error) {
		def := in.Bytes()
		return func(c *client) (reply, error) {
			graph, session, err := imported(def, c.target)
			c.use(graph, session)
			return nothing, err
		}
	},
	"add": func(in *wire.Decoder) func(*client) (reply, error) {
		def := in.Bytes()
		return func(c *client) (reply, error) { return nothing, c.graph.Import(def, "") }
	},
	"saved_model": func(in *wire.Decoder) func(*client) (reply, error) {
		folder := in.String()
		return func(c *client) (reply, error) {
			model, err := loaded(folder)
			if err != nil {
				return nil, err
			}
			c.use(model.Graph, model.Session)
			return nothing, nil
		}
	},
	"connect": func(in *wire.Decoder) func(*client) (reply, error) {
		target := in.String()
		return func(c *client) (reply, error) {
			c.target = target
			return nothing, nil
		}
	},
	"export": func(*wire.Decoder) func(*client) (reply, error) {
		return func(c *client) (reply, error) {
			var def bytes.Buffer
			_, err := c.graph.WriteTo(&def)
			return func(out *wire.Encoder) { out.String(def.String()) }, err
		}
	},
	"gradients": func(in *wire.Decoder) func(*client) (reply, error) {
		ys, xs, upstreams := in.Strings(), in.Strings(), in.Strings()
		return func(c *client) (reply, error) {
			gradients, err := addGradients(c.graph, ys, xs, upstreams)
			names := make([]string, len(gradients)) // empty if there is none
			for i, gradient := range gradients {
				if gradient.Index >= 0 {
					names[i] = fmt.Sprintf("%s:%d", gradient.Op.Name(), gradient.Index)
				}
			}
			return func(out *wire.Encoder) { out.Strings(names) }, err
		}
	},
	"run": func(in *wire.Decoder) func(*client) (reply, error) {
		feeds, fetches := readFeeds(in), in.Strings()
		return func(c *client) (reply, error) {
			outputs, err := find(c.graph, fetches)
			if err != nil {
				return nil, err
			}
			results, err := run(c.graph, c.session, feeds, outputs)
			return tensors(results), err
		}
	},
	"threads": func(in *wire.Decoder) func(*client) (reply, error) {
		count, def := in.Int(), in.Bytes()
		ys, xs, upstreams := in.Strings(), in.Strings(), in.Strings()
		feeds := readFeeds(in)
		return func(c *client) (reply, error) {
			results, err := inThreads(count, func() ([]*tf.Tensor, error) {
				return differentiate(def, ys, xs, upstreams, feeds, c.target)
			})
			return func(out *wire.Encoder) {
				out.Int(int64(len(results)))
				for _, result := range results {
					out.Tensors(result)
				}
			}, err
		}
	},
}

func main() {
	log.SetFlags(0)
	c := client{graph: tf.NewGraph()}
	in, out := wire.NewDecoder(os.Stdin), wire.NewEncoder(os.Stdout)
	for in.More() {
		name := in.String()
		decode, known := requests[name]
		if in.Err() != nil || !known {
			log.Fatalf("malformed request: %q", name)
		}
		answer := decode(in)
		if err := in.Err(); err != nil {
			log.Fatalf("malformed request: %s: %v", name, err)
		}
		write, err := answer(&c)
		out.Int(code(err))
		if err != nil {
			out.String(err.Error())
		} else {
			write(out)
		}
		if err := out.Flush(); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}
