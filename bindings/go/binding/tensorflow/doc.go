// Package tensorflow has the parts of the package of this name that the Go programs of this
// repository need, over TensorFlow's C API. They compile against it if the module of its import
// path is not available. The names, their arguments and their meaning are those of the original,
// which documents everything that is not documented here.
package tensorflow

// #cgo LDFLAGS: -ltensorflow
import "C"
