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

// Cast returns the values in another type.
func Cast(scope *Scope, x tf.Output, dstT tf.DataType) (y tf.Output) {
	return one(scope, "Cast", attrs{"DstT": dstT}, x)
}

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

// FloorMod returns the remainder of x / y, with the sign of y.
func FloorMod(scope *Scope, x, y tf.Output) (z tf.Output) { return one(scope, "FloorMod", nil, x, y) }

// ResourceGather returns rows of a variable.
func ResourceGather(scope *Scope, resource, indices tf.Output, dtype tf.DataType) (output tf.Output) {
	return one(scope, "ResourceGather", attrs{"dtype": dtype}, resource, indices)
}

// Sin returns the sine of x.
func Sin(scope *Scope, x tf.Output) (y tf.Output) { return one(scope, "Sin", nil, x) }

// Sqrt returns the square root of x.
func Sqrt(scope *Scope, x tf.Output) (y tf.Output) { return one(scope, "Sqrt", nil, x) }

// Square returns x * x.
func Square(scope *Scope, x tf.Output) (y tf.Output) { return one(scope, "Square", nil, x) }

// SquaredDifference returns (x - y) * (x - y).
func SquaredDifference(scope *Scope, x, y tf.Output) (z tf.Output) {
	return one(scope, "SquaredDifference", nil, x, y)
}

// StatelessRandomNormal draws from the standard normal distribution.
func StatelessRandomNormal(scope *Scope, shape, seed tf.Output) (output tf.Output) {
	return one(scope, "StatelessRandomNormal", nil, shape, seed)
}

// StatelessRandomUniformInt draws integers from minval to maxval - 1.
func StatelessRandomUniformInt(scope *Scope, shape, seed, minval, maxval tf.Output) (output tf.Output) {
	return one(scope, "StatelessRandomUniformInt", nil, shape, seed, minval, maxval)
}

// SumAttr is an optional argument of Sum.
type SumAttr func(attrs)

// SumKeepDims keeps the axes, with size 1.
func SumKeepDims(value bool) SumAttr {
	return func(m attrs) { m["keep_dims"] = value }
}

// Sum returns the sum along axes.
func Sum(scope *Scope, input, axis tf.Output, optional ...SumAttr) (output tf.Output) {
	values := attrs{}
	for _, set := range optional {
		set(values)
	}
	return one(scope, "Sum", values, input, axis)
}

// Tanh returns the hyperbolic tangent of x.
func Tanh(scope *Scope, x tf.Output) (y tf.Output) { return one(scope, "Tanh", nil, x) }
