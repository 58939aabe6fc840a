// SPDX-License-Identifier: Apache-2.0

// Package tensorflow is what the Go programs of this repository need of the package
// of this name, over TensorFlow's C API: where the module of its import path cannot be
// had, they compile against this one. The names, their arguments and what they mean
// are those of the other; what is not said here is said there.
package tensorflow

// #cgo LDFLAGS: -ltensorflow
import "C"
