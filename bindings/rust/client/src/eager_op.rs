//! Runs an op in eager mode and differentiates it with gradient tapes.

use std::ffi::CString;
use std::io::{self, BufRead};

use tensorflow::Result;
use tensorflow::eager::{Context, ContextOptions, TensorHandle};

use crate::protocol::{self as wire, Values};
use crate::tensorflow_ext::{GradientTape, eager};
use crate::tensors;

/// No op of a request has more outputs.
const MOST_OUTPUTS: usize = 64;

pub struct EagerOp {
    op: CString,
    /// A serialized AttrValue for each attribute.
    attributes: Vec<(CString, Vec<u8>)>,
    inputs: Vec<Values>,
    /// The inputs that have gradients.
    xs: Vec<usize>,
    /// Upstream gradients by the output.
    upstreams: Vec<(usize, Values)>,
    /// Upstream gradients of the gradients, by the place among `xs`.
    weights: Vec<(usize, Values)>,
}

impl EagerOp {
    pub fn read(input: &mut impl BufRead) -> io::Result<EagerOp> {
        Ok(EagerOp {
            op: read_name(input)?,
            attributes: wire::read_list(input, |from| {
                Ok((read_name(from)?, wire::read_bytes(from)?))
            })?,
            inputs: wire::read_list(input, wire::read_tensor)?,
            xs: wire::read_list(input, wire::read_index)?,
            upstreams: wire::read_list(input, read_indexed)?,
            weights: wire::read_list(input, read_indexed)?,
        })
    }

    /// The outputs, their gradients by the xs, and the gradients of these by the xs and the
    /// upstream gradients.
    pub fn run(&self) -> Result<[Vec<Values>; 3]> {
        let context = Context::new(ContextOptions::new())?;
        let outer = GradientTape::new(&context)?;
        let inner = GradientTape::new(&context)?;
        let inputs = handles(&context, &self.inputs)?;
        let dys = handles(&context, self.upstreams.iter().map(|(_, dy)| dy))?;
        let mut xs = pick(&inputs, self.xs.iter());
        for x in &xs {
            inner.watch(x)?;
        }
        for x in xs.iter().copied().chain(&dys) {
            outer.watch(x)?;
        }
        let mut op = eager::Op::new(&context, &self.op)?;
        for input in &inputs {
            op.add_input(input)?;
        }
        for (name, value) in &self.attributes {
            op.set_attr_value_proto(name, value)?;
        }
        let outputs = op.run(MOST_OUTPUTS)?;
        let ys = pick(&outputs, self.upstreams.iter().map(|(y, _)| y));
        let dys: Vec<_> = dys.iter().collect();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        if !ys.is_empty() {
            first = inner.gradients(&ys, &xs, &dys)?;
        }
        if !self.weights.is_empty() {
            let weights = handles(&context, self.weights.iter().map(|(_, weight)| weight))?;
            let weights: Vec<_> = weights.iter().collect();
            xs.extend(dys);
            let weighed = pick(&first, self.weights.iter().map(|(x, _)| x));
            second = outer.gradients(&weighed, &xs, &weights)?;
        }
        Ok([values(&outputs)?, values(&first)?, values(&second)?])
    }
}

fn read_name(input: &mut impl BufRead) -> io::Result<CString> {
    CString::new(wire::read_bytes(input)?).map_err(|error| wire::malformed(error.to_string()))
}

fn read_indexed(input: &mut impl BufRead) -> io::Result<(usize, Values)> {
    Ok((wire::read_index(input)?, wire::read_tensor(input)?))
}

fn handles<'a, 'v>(
    context: &'a Context,
    values: impl IntoIterator<Item = &'v Values>,
) -> Result<Vec<TensorHandle<'a>>> {
    let handle = |values| tensors::handle(context, values);
    values.into_iter().map(handle).collect()
}

fn pick<'t, 'a, 'i>(
    tensors: &'t [TensorHandle<'a>],
    indices: impl Iterator<Item = &'i usize>,
) -> Vec<&'t TensorHandle<'a>> {
    indices.map(|index| &tensors[*index]).collect()
}

fn values(tensors: &[TensorHandle]) -> Result<Vec<Values>> {
    tensors.iter().map(crate::tensors::resolve).collect()
}
