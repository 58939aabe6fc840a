// SPDX-License-Identifier: Apache-2.0

// Package op adds operations to a graph: see package tensorflow.
package op

import (
	"errors"
	"fmt"

	tf "github.com/wamuir/graft/tensorflow"
)

// Scope is where operations are added: a graph, the first part of their names, what
// they wait for. Its first error ends what all scopes of the graph do.
type Scope struct {
	graph   *tf.Graph
	prefix  string
	used    map[string]int // how often a name of a SubScope was asked for
	control []*tf.Operation
	err     *error
}

// NewScope is a scope of a graph of its own.
func NewScope() *Scope { return NewScopeWithGraph(tf.NewGraph()) }

// NewScopeWithGraph is a scope that adds to this graph.
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

// Err is the first error of this scope or of another one of the same graph.
func (s *Scope) Err() error { return *s.err }

// UpdateErr makes an error the scope's, if it is the first.
func (s *Scope) UpdateErr(op string, err error) {
	if *s.err == nil {
		*s.err = fmt.Errorf("failed to add operation %q: %w", op, err)
	}
}

// AddOperation adds an operation; nil once there is an error.
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

// SubScope is a scope whose operations have this name before theirs. Two operations of
// one type need it: a scope gives no two names to them.
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

// WithControlDependencies is a scope whose operations wait for these.
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

// Gradients adds the gradients of the sum of the ys with respect to each x; dx are
// upstream gradients, one for each y. An x without gradient gets an Output of index -1.
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
