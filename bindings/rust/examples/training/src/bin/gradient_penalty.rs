//! Trains a network whose loss contains a gradient: the norm of the output's gradient by the input
//! must be near 1. Training takes the gradient of that gradient. Prints the loss of each step.
//! examples/training/reference.py is the same in Python. TENSORFLOW_EXT_LIBRARY names
//! libtensorflow_ext.so.

use std::error::Error;
use std::slice;

use tensorflow::{
    DataType, Operation, Output, Scope, Session, SessionOptions, SessionRunArgs, Tensor, ops,
};
use training::tensorflow_ext;
use training::train::{self, GlorotUniform, SGD, Zeros};

fn dense(
    x: Output,
    kernel: &Output,
    bias: &Output,
    scope: &mut Scope,
) -> tensorflow::Result<Operation> {
    let read = ops::ReadVariableOp::new().dtype(DataType::Float);
    let product = ops::mat_mul(x, read.build(kernel.clone(), scope)?, scope)?;
    ops::bias_add(product, read.build(bias.clone(), scope)?, scope)
}

fn main() -> Result<(), Box<dyn Error>> {
    tensorflow_ext::load()?;
    let scope = &mut Scope::new_root_scope();
    let (first, second) = (GlorotUniform::new().seed(1), GlorotUniform::new().seed(2));
    let variables = train::new_variables(
        &mut scope.graph_mut(),
        &[
            ("hidden/kernel", DataType::Float, &[4, 16], &first),
            ("hidden/bias", DataType::Float, &[16], &Zeros::new()),
            ("output/kernel", DataType::Float, &[16, 1], &second),
            ("output/bias", DataType::Float, &[1], &Zeros::new()),
        ],
    )?;
    let v = &variables.handles;

    let seed = ops::Placeholder::new()
        .dtype(DataType::Int64)
        .build(scope)?;
    let shape = ops::constant(&[64, 4][..], scope)?;
    let x: Output = ops::stateless_random_normal(shape, seed.clone(), scope)?.into();
    let (rows, columns) = (ops::constant(0, scope)?, ops::constant(1, scope)?);
    let sums = ops::Sum::new().keep_dims(true);
    let target = ops::sin(sums.build(x.clone(), columns.clone(), scope)?, scope)?;
    let hidden = ops::tanh(dense(x.clone(), &v[0], &v[1], scope)?, scope)?;
    let y: Output = dense(hidden.into(), &v[2], &v[3], scope)?.into();
    let dx = tensorflow_ext::gradients(slice::from_ref(&y), &[x], None, scope)?;
    let dx = dx[0].clone().ok_or("y depends on x")?;
    let squares = ops::square(dx, scope)?;
    let norm = ops::sqrt(ops::sum(squares, columns.clone(), scope)?, scope)?;
    let one = ops::constant(1f32, scope)?;
    let difference = ops::squared_difference(norm, one, scope)?;
    let penalty = ops::mean(difference, rows, scope)?;
    let factor = ops::constant(0.1f32, scope)?;
    let penalty = ops::mul(penalty, factor, scope)?;
    let errors = ops::squared_difference(y, target, scope)?;
    let axes = ops::constant(&[0, 1][..], scope)?;
    let loss = ops::add(ops::mean(errors, axes, scope)?, penalty, scope)?;

    let sgd = SGD::new().learning_rate(0.05).momentum(0.9);
    let training = train::minimize(&mut scope.graph_mut(), loss.clone(), v, &sgd)?;
    let session = Session::new(&SessionOptions::new(), &scope.graph())?;
    let mut args = SessionRunArgs::new();
    args.add_target(&variables.initialize);
    args.add_target(&training.initialize);
    session.run(&mut args)?;
    for step in 0..100 {
        let value = Tensor::from(&[step, 7i64][..]);
        let mut args = SessionRunArgs::new();
        args.add_feed(&seed, 0, &value);
        args.add_target(&training.step);
        let fetch = args.request_fetch(&loss, 0);
        session.run(&mut args)?;
        println!("{}", args.fetch::<f32>(fetch)?[0]);
    }
    Ok(())
}
