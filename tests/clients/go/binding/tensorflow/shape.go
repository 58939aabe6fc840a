// SPDX-License-Identifier: Apache-2.0

package tensorflow

import (
	"errors"
	"fmt"
	"strings"
)

// Shape is the shape of an Output, as far as it is known: the zero value is a shape of
// unknown rank, and a size of -1 is an unknown one.
type Shape struct {
	dims  []int64
	known bool
}

// MakeShape is the shape of these sizes.
func MakeShape(shape ...int64) Shape {
	return Shape{append([]int64(nil), shape...), true}
}

// ScalarShape is the shape of rank 0.
func ScalarShape() Shape { return MakeShape() }

// NumDimensions is the rank, -1 where it is unknown.
func (s Shape) NumDimensions() int {
	if !s.known {
		return -1
	}
	return len(s.dims)
}

// Size is the size of one dimension, -1 where it is unknown.
func (s Shape) Size(dim int) int64 { return s.dims[dim] }

// ToSlice is all sizes; an error where the rank is unknown.
func (s Shape) ToSlice() ([]int64, error) {
	if !s.known {
		return nil, errors.New("a shape of unknown rank has no sizes")
	}
	return append([]int64(nil), s.dims...), nil
}

func (s Shape) String() string {
	if !s.known {
		return "?"
	}
	sizes := make([]string, len(s.dims))
	for i, size := range s.dims {
		sizes[i] = "?"
		if size >= 0 {
			sizes[i] = fmt.Sprint(size)
		}
	}
	return "[" + strings.Join(sizes, ", ") + "]"
}
