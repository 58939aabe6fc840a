//! Prints what tapes give: NAME NUMBER... for tensors, NAME! MESSAGE for an error. tests/tape
//! checks them. TENSORFLOW_EXT_LIBRARY is the path of libtensorflow_ext.so.

mod tensorflow_ext;

use std::env;

use tensorflow::eager::{Context, ContextOptions, TensorHandle, raw_ops};
use tensorflow::{DataType, Library, Result, Tensor};
use tensorflow_ext::{GradientTape, GradientTapeOptions, eager};

/// A context with two tensors.
struct Use<'a> {
    context: &'a Context,
    x: TensorHandle<'a>,
    w: TensorHandle<'a>,
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    Library::load(&env::var("TENSORFLOW_EXT_LIBRARY")?)?;
    let context = Context::new(ContextOptions::new())?;
    let test = Use::new(&context)?;
    test.gradients()?;
    test.higher_orders()?;
    test.variables()?;
    test.slices()?;
    test.records_only_when_asked()?;
    test.errors()?;
    let mut options = ContextOptions::new();
    options.set_async(true);
    Use::new(&Context::new(options)?)?.asynchronous()?;
    Ok(())
}

impl<'a> Use<'a> {
    fn new(context: &'a Context) -> Result<Self> {
        let x = Tensor::from(&[1.0, 2.0, 3.0][..]).into_handle(context)?;
        let w = Tensor::from(&[4.0, 5.0, 6.0][..]).into_handle(context)?;
        Ok(Use { context, x, w })
    }

    fn tape(&self) -> Result<GradientTape<'a>> {
        GradientTape::new(self.context)
    }

    fn persistent(&self) -> Result<GradientTape<'a>> {
        GradientTape::options().persistent(true).start(self.context)
    }

    fn square(&self, x: &TensorHandle<'a>) -> Result<TensorHandle<'a>> {
        raw_ops::square(self.context, x)
    }

    fn mul(&self, x: &TensorHandle<'a>, y: &TensorHandle<'a>) -> Result<TensorHandle<'a>> {
        raw_ops::mul(self.context, x, y)
    }

    fn gradients(&self) -> Result<()> {
        let tape = self.tape()?;
        tape.watch(&self.x)?;
        tape.watch(&self.w)?;
        let y = self.mul(&self.x, &self.w)?;
        print("list", &tape.gradient(&y, &[&self.w, &self.x])?)?;

        let tape = self.tape()?;
        tape.watch(&self.x)?;
        tape.watch(&self.w)?;
        let y = self.square(&self.x)?;
        print("unconnected", &tape.gradient(&y, &[&self.w])?)?;

        let tape = self.tape()?;
        tape.watch(&self.x)?;
        let y = [self.square(&self.x)?, self.mul(&self.x, &self.w)?];
        let dy = [&self.w, &self.x];
        print(
            "upstream",
            &tape.gradients(&[&y[0], &y[1]], &[&self.x], &dy)?,
        )?;

        let tape = self.tape()?;
        tape.watch(&self.x)?;
        tape.watch(&self.w)?;
        let y = raw_ops::add(self.context, &self.x, &self.w)?;
        let both = [&self.x, &self.w];
        print("same", &tape.gradients(&[&y], &both, &[&self.x])?)?;

        let tape = self.persistent()?;
        tape.watch(&self.x)?;
        let y = self.square(&self.x)?;
        print("persistent_1", &tape.gradient(&y, &[&self.x])?)?;
        let y = self.mul(&y, &self.x)?;
        print("persistent_2", &tape.gradient(&y, &[&self.x])?)?;

        let tape = self.tape()?;
        tape.watch(&self.x)?;
        let mut op = eager::Op::new(self.context, c"TfExt>Mish")?;
        op.add_input(&self.x)?;
        let y = op.run(1)?.remove(0);
        print("mish", &tape.gradient(&y, &[&self.x])?)
    }

    fn higher_orders(&self) -> Result<()> {
        let outer = self.tape()?;
        outer.watch(&self.x)?;
        let inner = self.tape()?;
        inner.watch(&self.x)?;
        let y = self.mul(&self.square(&self.x)?, &self.x)?;
        let first = inner.gradient(&y, &[&self.x])?;
        print("second_order", &outer.gradient(&first[0], &[&self.x])?)?;

        let tape = self.persistent()?;
        tape.watch(&self.x)?;
        tape.watch(&self.w)?;
        let y = self.mul(&self.square(&self.x)?, &self.w)?;
        print("jacobian", &tape.jacobian(&y, &[&self.x])?)?;
        print("jacobians", &tape.jacobian(&y, &[&self.x, &self.w])?)?;

        let tape = self.tape()?;
        tape.watch(&self.x)?;
        let y = self.square(&self.x)?;
        print("jvp", &tape.jvp(&[&y], &[&self.x], &[&self.w])?)?;

        let tape = self.tape()?;
        tape.watch(&self.x)?;
        tape.watch(&self.w)?;
        let y = [self.mul(&self.x, &self.w)?, self.square(&self.w)?];
        let both = [&self.x, &self.w];
        print("jvps", &tape.jvp(&[&y[0], &y[1]], &both, &both)?)
    }

    fn variable(&self, name: &str) -> Result<TensorHandle<'a>> {
        let handle = raw_ops::VarHandleOp::new()
            .dtype(DataType::Double)
            .shape(&[3_u64][..])
            .shared_name(name)
            .call(self.context)?;
        raw_ops::assign_variable_op(self.context, &handle, &self.w)?;
        Ok(handle)
    }

    fn read(&self, variable: &TensorHandle<'a>) -> Result<TensorHandle<'a>> {
        raw_ops::ReadVariableOp::new()
            .dtype(DataType::Double)
            .call(self.context, variable)
    }

    fn variables(&self) -> Result<()> {
        let variable = self.variable("read")?;
        let unread = self.variable("unread")?;
        let tape = self.persistent()?;
        let y = self.mul(&self.square(&self.read(&variable)?)?, &self.x)?;
        print("variable", &tape.gradient(&y, &[&variable])?)?;
        print("variables", &tape.gradient(&y, &[&variable, &unread])?)?;

        let options: GradientTapeOptions = GradientTape::options().watch_variables(false);
        let tape = options.start(self.context)?;
        let y = self.square(&self.read(&variable)?)?;
        print("no_variables", &tape.gradient(&y, &[&variable])?)
    }

    fn slices(&self) -> Result<()> {
        let variable = self.variable("gathered")?;
        let tape = self.persistent()?;
        tape.watch(&self.x)?;
        let rows = raw_ops::ResourceGather::new()
            .dtype(DataType::Double)
            .call(self.context, &variable, &[2_i32, 0, 2])?;
        let y = self.mul(&rows, &self.x)?;
        let xs = [&variable, &self.x];
        let mut gradients = tape.gradient_slices(&[&y], &xs, &[], false)?;
        let dense = gradients.remove(1);
        let rows = gradients.remove(0);
        let (indices, shape) = (self.doubles(&rows.indices)?, self.doubles(&rows.shape)?);
        print("slices", &[rows.values, indices, shape])?;
        print("not_slices", &[dense.values])?;
        println!("reasons {} {}", rows.reason.len(), dense.reason.len());
        let summed = tape
            .gradient_slices(&[&y], &[&variable], &[&self.w], true)?
            .remove(0);
        let indices = self.doubles(&summed.indices)?;
        print("summed_slices", &[summed.values, indices])
    }

    fn doubles(&self, x: &TensorHandle<'a>) -> Result<TensorHandle<'a>> {
        raw_ops::Cast::new()
            .DstT(DataType::Double)
            .call(self.context, x)
    }

    fn records_only_when_asked(&self) -> Result<()> {
        let tape = self.tape()?;
        tape.watch(&self.x)?;
        let y = self.square(&self.x)?;
        tape.stop()?;
        let factor = self.square(&self.x)?;
        tape.resume()?;
        let y = self.mul(&y, &factor)?;
        print("stopped", &tape.gradient(&y, &[&self.x])?)?;
        tape.reset()?;
        tape.watch(&self.x)?;
        let y = raw_ops::neg(self.context, &self.x)?;
        print("reset", &tape.gradient(&y, &[&self.x])?)
    }

    fn errors(&self) -> Result<()> {
        let tape = self.tape()?;
        tape.watch(&self.x)?;
        let y = self.square(&self.x)?;
        let x = [&self.x];
        let scalar = Tensor::from(1.0).into_handle(self.context)?;
        let integer = Tensor::from(1).into_handle(self.context)?;
        error("unwatched", tape.gradient(&y, &[&self.w]));
        error("not_persistent", tape.jacobian(&y, &x));
        error("shape", tape.gradients(&[&y], &x, &[&scalar]));
        error("integers", tape.watch(&integer));
        error("no_gradient", tape.gradient(&self.without_gradient()?, &x));
        error("used_up", tape.gradient(&y, &x));

        let tape = self.persistent()?;
        tape.watch(&self.x)?;
        tape.watch(&self.w)?;
        let y = self.square(&self.x)?;
        error("unconnected_jacobian", tape.jacobian(&y, &[&self.w]));
        error("tangents", tape.jvp(&[&y], &x, &[]));
        Ok(())
    }

    /// The output of an op that has no gradient.
    fn without_gradient(&self) -> Result<TensorHandle<'a>> {
        let points = raw_ops::Cast::new()
            .DstT(DataType::Float)
            .call(self.context, &self.x)?;
        let points = raw_ops::reshape(self.context, &points, &[3, 1])?;
        raw_ops::kmeans_plus_plus_initialization(self.context, &points, &1_i64, &1_i64, &1_i64)
    }

    fn asynchronous(&self) -> Result<()> {
        let variable = self.variable("asynchronous")?;
        let tape = self.tape()?;
        let y = self.square(&self.read(&variable)?)?;
        print("asynchronous", &tape.gradient(&y, &[&variable])?)
    }
}

fn print(name: &str, tensors: &[TensorHandle]) -> Result<()> {
    let mut line = name.to_string();
    for tensor in tensors {
        for value in tensor.resolve::<f64>()?.iter() {
            line += &format!(" {value}");
        }
    }
    println!("{line}");
    Ok(())
}

fn error<T>(name: &str, result: Result<T>) {
    match result {
        Ok(_) => panic!("{name}: expected an error"),
        Err(status) => println!("{name}! {status}"),
    }
}
