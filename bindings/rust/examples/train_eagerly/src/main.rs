//! Trains a network on handwritten digits in eager mode, and prints the loss of each step.
//!
//!   zcat examples/digits.csv.gz | train_eagerly
//!
//! A line of the input is an image, 64 grey values up to 16, and its digit. TENSORFLOW_EXT_LIBRARY
//! is the path of libtensorflow_ext.so.

mod tensorflow_ext;

use std::error::Error;
use std::io;

use tensorflow::eager::{Context, ContextOptions, TensorHandle, raw_ops};
use tensorflow::{DataType, Tensor};
use tensorflow_ext::GradientTape;

const IMAGES: usize = 256;
const HIDDEN: u64 = 32;
const STEPS: usize = 200;
const RATE: f64 = 0.5;

fn main() -> Result<(), Box<dyn Error>> {
    tensorflow_ext::load()?;
    let context = Context::new(ContextOptions::new())?;
    let (mut images, mut digits) = (Vec::new(), Vec::new());
    for line in io::stdin().lines().take(IMAGES) {
        let line = line?;
        let (image, digit) = line.rsplit_once(',').ok_or("expected numbers and commas")?;
        for grey in image.split(',') {
            images.push(grey.parse::<f64>()? / 16.0);
        }
        digits.push(digit.parse::<i32>()?);
    }
    let images = tensor(&context, &[IMAGES as u64, 64], &images)?;
    let digits = Tensor::from(&digits[..]).into_handle(&context)?;
    let weights = [
        variable(&context, &[64, HIDDEN])?,
        variable(&context, &[HIDDEN, 10])?,
    ];
    for _ in 0..STEPS {
        let tape = GradientTape::new(&context)?;
        let hidden = raw_ops::mat_mul(&context, &images, &read(&context, &weights[0])?)?;
        let hidden = raw_ops::relu(&context, &hidden)?;
        let logits = raw_ops::mat_mul(&context, &hidden, &read(&context, &weights[1])?)?;
        let [losses, _] =
            raw_ops::sparse_softmax_cross_entropy_with_logits(&context, &logits, &digits)?;
        let loss = raw_ops::mean(&context, &losses, &0)?;
        let gradients = tape.gradient(&loss, &[&weights[0], &weights[1]])?;
        for (weight, gradient) in weights.iter().zip(&gradients) {
            raw_ops::resource_apply_gradient_descent(&context, weight, &RATE, gradient)?;
        }
        println!("{}", loss.resolve::<f64>()?[0]);
    }
    Ok(())
}

fn tensor<'a>(
    context: &'a Context,
    shape: &[u64],
    values: &[f64],
) -> tensorflow::Result<TensorHandle<'a>> {
    Tensor::new(shape).with_values(values)?.into_handle(context)
}

/// A variable that starts with sin(1) / 5, sin(2) / 5, ...
fn variable<'a>(context: &'a Context, shape: &[u64; 2]) -> tensorflow::Result<TensorHandle<'a>> {
    let start: Vec<f64> = (1..=shape[0] * shape[1])
        .map(|i| (i as f64).sin() / 5.0)
        .collect();
    let handle = raw_ops::VarHandleOp::new()
        .dtype(DataType::Double)
        .shape(&shape[..])
        .shared_name(format!("{shape:?}"))
        .call(context)?;
    raw_ops::assign_variable_op(context, &handle, &tensor(context, shape, &start)?)?;
    Ok(handle)
}

fn read<'a>(
    context: &'a Context,
    variable: &TensorHandle<'a>,
) -> tensorflow::Result<TensorHandle<'a>> {
    raw_ops::ReadVariableOp::new()
        .dtype(DataType::Double)
        .call(context, variable)
}
