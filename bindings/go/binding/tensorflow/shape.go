package tensorflow

import "errors"

// Shape is a shape that may be partly known: the zero value has an unknown rank, and -1 stands for
// an unknown size.
type Shape struct {
	dims  []int64
	known bool
}

// MakeShape returns the shape of these sizes.
func MakeShape(shape ...int64) Shape {
	return Shape{append([]int64(nil), shape...), true}
}

// NumDimensions returns the rank, or -1 if it is unknown.
func (s Shape) NumDimensions() int {
	if !s.known {
		return -1
	}
	return len(s.dims)
}

// ToSlice returns the sizes, or an error if the rank is unknown.
func (s Shape) ToSlice() ([]int64, error) {
	if !s.known {
		return nil, errors.New("the shape has an unknown rank")
	}
	return append([]int64(nil), s.dims...), nil
}
