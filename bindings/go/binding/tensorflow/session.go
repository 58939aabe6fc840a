package tensorflow

// #include <stdlib.h>
// #include "tensorflow/c/c_api.h"
import "C"

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"
)

// SessionOptions say where and how a session runs; nil means this process and TensorFlow's
// defaults.
type SessionOptions struct {
	// Target is where the session runs: "grpc://host:port", or empty.
	Target string
}

func (o *SessionOptions) c() *C.TF_SessionOptions {
	options := C.TF_NewSessionOptions()
	if o != nil {
		target := C.CString(o.Target)
		defer C.free(unsafe.Pointer(target))
		C.TF_SetTarget(options, target)
	}
	return options
}

// Session runs a graph, including nodes that are added later. Goroutines may share it.
type Session struct {
	mutex sync.RWMutex // protects c: each run holds it for reading
	c     *C.TF_Session
}

// NewSession returns a session of the graph.
func NewSession(graph *Graph, options *SessionOptions) (*Session, error) {
	defer runtime.KeepAlive(graph)
	cOptions := options.c()
	defer C.TF_DeleteSessionOptions(cOptions)
	var session *C.TF_Session
	err := check(func(status *C.TF_Status) {
		session = C.TF_NewSession(graph.c, cOptions, status)
	})
	if err != nil {
		return nil, err
	}
	return ownSession(session), nil
}

func ownSession(c *C.TF_Session) *Session {
	session := &Session{c: c}
	runtime.SetFinalizer(session, func(s *Session) { s.Close() })
	return session
}

// Close ends the session after its runs. Closing it again does nothing.
func (s *Session) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.c == nil {
		return nil
	}
	err := check(func(status *C.TF_Status) { C.TF_CloseSession(s.c, status) })
	if err != nil {
		return err
	}
	err = check(func(status *C.TF_Status) { C.TF_DeleteSession(s.c, status) })
	s.c = nil
	return err
}

// Run feeds tensors, runs everything that the fetches and the targets need, and returns the fetched
// tensors in order.
func (s *Session) Run(feeds map[Output]*Tensor, fetches []Output, targets []*Operation) ([]*Tensor, error) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	if s.c == nil {
		return nil, errors.New("the session is closed")
	}
	defer runtime.KeepAlive(feeds)
	fed, values := make([]Output, 0, len(feeds)), make([]*C.TF_Tensor, 0, len(feeds))
	for output, tensor := range feeds {
		fed, values = append(fed, output), append(values, tensor.c)
	}
	cFed, err := cOutputs(fed, "feed")
	if err != nil {
		return nil, err
	}
	cFetched, err := cOutputs(fetches, "fetch")
	if err != nil {
		return nil, err
	}
	cTargets, err := cOperations(targets, "target")
	if err != nil {
		return nil, err
	}
	results := make([]*C.TF_Tensor, len(fetches))
	err = check(func(status *C.TF_Status) {
		C.TF_SessionRun(s.c, nil, first(cFed), first(values), C.int(len(cFed)),
			first(cFetched), first(results), C.int(len(cFetched)),
			first(cTargets), C.int(len(cTargets)), nil, status)
	})
	if err != nil {
		return nil, err
	}
	tensors := make([]*Tensor, len(results))
	for i, result := range results {
		tensors[i] = ownTensor(result)
	}
	return tensors, nil
}

// SavedModel is a loaded SavedModel. (Its signatures need Protobuf, which this package does not
// use.)
type SavedModel struct {
	Session *Session
	Graph   *Graph
}

// LoadSavedModel loads the graph with these tags into a session and restores its variables.
func LoadSavedModel(exportDir string, tags []string, options *SessionOptions) (*SavedModel, error) {
	cOptions := options.c()
	defer C.TF_DeleteSessionOptions(cOptions)
	folder := C.CString(exportDir)
	defer C.free(unsafe.Pointer(folder))
	cTags := make([]*C.char, len(tags))
	for i, tag := range tags {
		cTags[i] = C.CString(tag)
		defer C.free(unsafe.Pointer(cTags[i]))
	}
	graph := NewGraph()
	defer runtime.KeepAlive(graph)
	var session *C.TF_Session
	err := check(func(status *C.TF_Status) {
		session = C.TF_LoadSessionFromSavedModel(cOptions, nil, folder, first(cTags),
			C.int(len(tags)), graph.c, nil, status)
	})
	if err != nil {
		return nil, err
	}
	return &SavedModel{ownSession(session), graph}, nil
}
