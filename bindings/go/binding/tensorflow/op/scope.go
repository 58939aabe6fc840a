// Package op adds operations to a graph: see package tensorflow.
package op

import (
	"errors"
	"fmt"

	tf "github.com/wamuir/graft/tensorflow"
)

// Scope is the place where operations are added: a graph, a prefix for their names, and the
// operations that they wait for. After its first error, all scopes of the graph add nothing.
type Scope struct {
	graph   *tf.Graph
	prefix  string
	used    map[string]int // number of calls of SubScope for each name
	control []*tf.Operation
	err     *error
}

// NewScope returns a scope of a new graph.
func NewScope() *Scope { return NewScopeWithGraph(tf.NewGraph()) }

// NewScopeWithGraph returns a scope that adds to this graph.
func NewScopeWithGraph(graph *tf.Graph) *Scope {
	return &Scope{graph: graph, used: map[string]int{}, err: new(error)}
}

// Finalize ends the scope and returns its graph, or the first error.
func (s *Scope) Finalize() (*tf.Graph, error) {
	if *s.err != nil {
		return nil, *s.err
	}
	*s.err = errors.New("the scope has been finalized")
	return s.graph, nil
}

// Err returns the first error of this scope or of another one of the same graph.
func (s *Scope) Err() error { return *s.err }

// UpdateErr sets the scope's error, if it is the first.
func (s *Scope) UpdateErr(op string, err error) {
	if *s.err == nil {
		*s.err = fmt.Errorf("failed to add operation %q: %w", op, err)
	}
}

// AddOperation adds an operation and returns it, or nil after an error.
func (s *Scope) AddOperation(spec tf.OpSpec) *tf.Operation {
	if *s.err != nil {
		return nil
	}
	if spec.Name == "" {
		spec.Name = spec.Type
	}
	spec.Name = s.name(spec.Name)
	spec.ControlDependencies = append(append([]*tf.Operation(nil), spec.ControlDependencies...), s.control...)
	operation, err := s.graph.AddOperation(spec)
	if err != nil {
		s.UpdateErr(spec.Type, err)
	}
	return operation
}

// SubScope returns a scope that adds this prefix to the names of its operations. Two operations of
// one type need one, because a scope does not number equal names.
func (s *Scope) SubScope(name string) *Scope {
	count := s.used[name]
	s.used[name]++
	if count > 0 {
		name = fmt.Sprintf("%s_%d", name, count)
	}
	inner := *s
	inner.prefix = s.name(name)
	inner.used = map[string]int{}
	return &inner
}

// WithControlDependencies returns a scope whose operations wait for these.
func (s *Scope) WithControlDependencies(operations ...*tf.Operation) *Scope {
	inner := *s
	inner.control = append(append([]*tf.Operation(nil), s.control...), operations...)
	return &inner
}

func (s *Scope) name(name string) string {
	if s.prefix == "" {
		return name
	}
	return s.prefix + "/" + name
}

// Gradients adds the gradients of the sum of the ys with respect to each x; dx has an upstream
// gradient for each y. An x without gradient gets an Output of index -1.
func Gradients(scope *Scope, y, x []tf.Output, dx ...tf.Output) (output []tf.Output) {
	if scope.Err() != nil {
		return nil
	}
	if len(scope.control) > 0 {
		scope.UpdateErr("Gradients", errors.New("a scope with control dependencies adds no gradients"))
		return nil
	}
	output, err := scope.graph.AddGradients(scope.name("Gradients"), y, x, dx)
	if err != nil {
		scope.UpdateErr("Gradients", err)
	}
	return output
}
