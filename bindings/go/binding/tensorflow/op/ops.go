// SPDX-License-Identifier: Apache-2.0

package op

import tf "github.com/wamuir/graft/tensorflow"

// attrs are the attributes of one operation.
type attrs = map[string]interface{}

// add adds an operation of single inputs and returns it, or nil after an error.
func add(scope *Scope, op string, values attrs, inputs ...tf.Output) *tf.Operation {
	spec := tf.OpSpec{Type: op, Attrs: values}
	for _, input := range inputs {
		spec.Input = append(spec.Input, input)
	}
	return scope.AddOperation(spec)
}

// one is add for an op with one output.
func one(scope *Scope, op string, values attrs, inputs ...tf.Output) (output tf.Output) {
	if added := add(scope, op, values, inputs...); added != nil {
		return added.Output(0)
	}
	return
}

// Const adds a constant with the current value of a tensor, or of an argument of NewTensor.
func Const(scope *Scope, value interface{}) (output tf.Output) {
	if scope.Err() != nil {
		return
	}
	tensor, isTensor := value.(*tf.Tensor)
	if !isTensor {
		var err error
		if tensor, err = tf.NewTensor(value); err != nil {
			scope.UpdateErr("Const", err)
			return
		}
	}
	return one(scope, "Const", attrs{"dtype": tensor.DataType(), "value": tensor})
}

// Placeholder adds a tensor that is fed.
func Placeholder(scope *Scope, dtype tf.DataType) (output tf.Output) {
	return one(scope, "Placeholder", attrs{"dtype": dtype})
}

// VarHandleOpAttr is an optional argument of VarHandleOp.
type VarHandleOpAttr func(attrs)

// VarHandleOpSharedName sets the name by which sessions know the variable.
func VarHandleOpSharedName(value string) VarHandleOpAttr {
	return func(m attrs) { m["shared_name"] = value }
}

// VarHandleOp returns the handle of a variable.
func VarHandleOp(scope *Scope, dtype tf.DataType, shape tf.Shape, optional ...VarHandleOpAttr) (resource tf.Output) {
	values := attrs{"dtype": dtype, "shape": shape}
	for _, set := range optional {
		set(values)
	}
	return one(scope, "VarHandleOp", values)
}

// AssignVariableOp assigns a value to a variable.
func AssignVariableOp(scope *Scope, resource, value tf.Output) (o *tf.Operation) {
	return add(scope, "AssignVariableOp", nil, resource, value)
}

// ReadVariableOp returns the value of a variable.
func ReadVariableOp(scope *Scope, resource tf.Output, dtype tf.DataType) (value tf.Output) {
	return one(scope, "ReadVariableOp", attrs{"dtype": dtype}, resource)
}

// MatMul returns the product of two matrices.
func MatMul(scope *Scope, a, b tf.Output) (product tf.Output) {
	return one(scope, "MatMul", nil, a, b)
}

// BiasAdd adds a vector to each row.
func BiasAdd(scope *Scope, value, bias tf.Output) (output tf.Output) {
	return one(scope, "BiasAdd", nil, value, bias)
}

// Add returns x + y.
func Add(scope *Scope, x, y tf.Output) (z tf.Output) { return one(scope, "Add", nil, x, y) }

// Mul returns x * y.
func Mul(scope *Scope, x, y tf.Output) (z tf.Output) { return one(scope, "Mul", nil, x, y) }

// Div returns x / y.
func Div(scope *Scope, x, y tf.Output) (z tf.Output) { return one(scope, "Div", nil, x, y) }

// Mean returns the mean along axes.
func Mean(scope *Scope, input, axis tf.Output) (output tf.Output) {
	return one(scope, "Mean", nil, input, axis)
}

// SparseSoftmaxCrossEntropyWithLogits returns the loss of each row, and its gradient.
func SparseSoftmaxCrossEntropyWithLogits(scope *Scope, features, labels tf.Output) (loss, backprop tf.Output) {
	added := add(scope, "SparseSoftmaxCrossEntropyWithLogits", nil, features, labels)
	if added == nil {
		return
	}
	return added.Output(0), added.Output(1)
}

// ResourceApplyGradientDescent subtracts alpha * delta from a variable.
func ResourceApplyGradientDescent(scope *Scope, var_, alpha, delta tf.Output) (o *tf.Operation) {
	return add(scope, "ResourceApplyGradientDescent", nil, var_, alpha, delta)
}

// ResourceApplyKerasMomentum sets accum = momentum * accum - lr * grad; var += accum.
func ResourceApplyKerasMomentum(scope *Scope, var_, accum, lr, grad, momentum tf.Output) (o *tf.Operation) {
	return add(scope, "ResourceApplyKerasMomentum", nil, var_, accum, lr, grad, momentum)
}
