// Package wire reads and writes the values in requests to a client and in its answers;
// tests/clients/README.md describes the format.
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"

	tf "github.com/wamuir/graft/tensorflow"
)

// Decoder reads values. After its first error, which Err returns, it reads zeros.
type Decoder struct {
	reader *bufio.Reader
	err    error
}

// NewDecoder returns a decoder of the reader's bytes.
func NewDecoder(reader io.Reader) *Decoder { return &Decoder{reader: bufio.NewReader(reader)} }

// Err returns the first error.
func (d *Decoder) Err() error { return d.err }

// More is true if anything follows.
func (d *Decoder) More() bool {
	_, err := d.reader.Peek(1)
	return err == nil
}

func (d *Decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// Int reads a number.
func (d *Decoder) Int() (value int64) {
	if d.err == nil {
		d.err = binary.Read(d.reader, binary.LittleEndian, &value)
	}
	return value
}

// count reads the number of elements that follow.
func (d *Decoder) count() int64 {
	count := d.Int()
	if count < 0 {
		d.fail(fmt.Errorf("a count of %d", count))
	}
	return count
}

// Bytes reads bytes.
func (d *Decoder) Bytes() []byte {
	count := d.count()
	if d.err != nil {
		return nil
	}
	var content bytes.Buffer // grows with the data, whatever the count is
	_, err := io.CopyN(&content, d.reader, count)
	d.fail(err)
	return content.Bytes()
}

// String reads a string.
func (d *Decoder) String() string { return string(d.Bytes()) }

// Strings reads a list of strings.
func (d *Decoder) Strings() []string { return List(d, d.String) }

// List reads a list of values that `read` reads.
func List[T any](d *Decoder, read func() T) []T {
	var values []T
	for count := d.count(); count > 0 && d.err == nil; count-- {
		values = append(values, read())
	}
	return values
}

// Tensor reads a tensor; it returns nil after an error.
func (d *Decoder) Tensor() *tf.Tensor {
	dtype, shape := tf.DataType(d.Int()), List(d, d.Int)
	var tensor *tf.Tensor
	var err error
	if dtype == tf.String {
		tensor, err = stringTensor(List(d, d.String), shape)
	} else {
		content := bytes.NewReader(d.Bytes())
		if d.err == nil {
			tensor, err = newTensor(dtype, shape, content)
		}
	}
	if d.fail(err); d.err != nil {
		return nil
	}
	return tensor
}

// stringTensor makes slices of slices of the values, because Reshape takes no strings.
func stringTensor(values []string, shape []int64) (*tf.Tensor, error) {
	count := 1
	for _, dim := range shape {
		count *= int(dim)
	}
	if count != len(values) {
		return nil, fmt.Errorf("%d strings for a tensor of shape %v", len(values), shape)
	}
	if len(shape) == 0 {
		return tf.NewTensor(values[0])
	}
	rows := reflect.ValueOf(values)
	for i := len(shape) - 1; i > 0; i-- {
		size := int(shape[i])
		count = 1
		for _, dim := range shape[:i] {
			count *= int(dim)
		}
		grouped := reflect.MakeSlice(reflect.SliceOf(rows.Type()), count, count)
		for k := 0; k < count; k++ {
			grouped.Index(k).Set(rows.Slice(k*size, (k+1)*size))
		}
		rows = grouped
	}
	return tf.NewTensor(rows.Interface())
}

// flatten appends the strings in slices of slices.
func flatten(values []string, value reflect.Value) []string {
	if value.Kind() == reflect.String {
		return append(values, value.String())
	}
	for i := 0; i < value.Len(); i++ {
		values = flatten(values, value.Index(i))
	}
	return values
}

// Encoder writes values; flushing sends them.
type Encoder struct {
	*bufio.Writer // keeps the first error
}

// NewEncoder returns an encoder that writes there.
func NewEncoder(writer io.Writer) *Encoder { return &Encoder{bufio.NewWriter(writer)} }

// Int writes a number.
func (e *Encoder) Int(value int64) { binary.Write(e, binary.LittleEndian, value) }

// String writes a string, or bytes.
func (e *Encoder) String(value string) {
	e.Int(int64(len(value)))
	e.WriteString(value)
}

// Strings writes a list of strings.
func (e *Encoder) Strings(values []string) {
	e.Int(int64(len(values)))
	for _, value := range values {
		e.String(value)
	}
}

// Tensors writes a list of tensors.
func (e *Encoder) Tensors(tensors []*tf.Tensor) {
	e.Int(int64(len(tensors)))
	for _, tensor := range tensors {
		e.tensor(tensor)
	}
}

func (e *Encoder) tensor(tensor *tf.Tensor) {
	e.Int(int64(tensor.DataType()))
	e.Int(int64(len(tensor.Shape())))
	for _, dim := range tensor.Shape() {
		e.Int(dim)
	}
	if tensor.DataType() == tf.String {
		e.Strings(flatten(nil, reflect.ValueOf(tensor.Value())))
		return
	}
	e.String(content(tensor))
}
