//! Trains an embedding table and a head lazily: a step changes only the rows that it gathers.
//!
//!   train_embedding PREFIX
//!
//! Prints the loss of each step, and writes a checkpoint. examples/training/reference.py is the
//! same in Python. TENSORFLOW_EXT_LIBRARY names libtensorflow_ext.so.

use std::env;
use std::error::Error;

use tensorflow::{DataType, Scope, Session, SessionOptions, SessionRunArgs, Tensor, ops};
use training::train::{self, Adam, GlorotUniform, RandomUniform, Zeros};

fn main() -> Result<(), Box<dyn Error>> {
    let prefix = env::args().nth(1).ok_or("usage: train_embedding PREFIX")?;
    training::tensorflow_ext::load()?;
    let scope = &mut Scope::new_root_scope();
    let (uniform, glorot) = (RandomUniform::new().seed(1), GlorotUniform::new().seed(2));
    let variables = train::new_variables(
        &mut scope.graph_mut(),
        &[
            ("embedding/table", DataType::Float, &[1000, 8], &uniform),
            ("head/kernel", DataType::Float, &[8, 3], &glorot),
            ("head/bias", DataType::Float, &[3], &Zeros::new()),
        ],
    )?;
    let [table, kernel, bias] = [0, 1, 2].map(|i| variables.handles[i].clone());
    let read = ops::ReadVariableOp::new().dtype(DataType::Float);

    let seed = ops::Placeholder::new()
        .dtype(DataType::Int64)
        .build(scope)?;
    let shape = ops::constant(&[64][..], scope)?;
    let (low, high) = (ops::constant(0, scope)?, ops::constant(1000, scope)?);
    let ids = ops::stateless_random_uniform_int(shape, seed.clone(), low, high, scope)?;
    let gather = ops::ResourceGather::new().dtype(DataType::Float);
    let rows = gather.build(table, ids.clone(), scope)?;
    let product = ops::mat_mul(rows, read.build(kernel, scope)?, scope)?;
    let logits = ops::bias_add(product, read.build(bias, scope)?, scope)?;
    let three = ops::constant(3, scope)?;
    let labels = ops::floor_mod(ids, three, scope)?;
    let losses = ops::sparse_softmax_cross_entropy_with_logits(logits, labels, scope)?;
    let axis = ops::constant(0, scope)?;
    let loss = ops::mean(losses, axis, scope)?;

    let graph = &mut *scope.graph_mut();
    let adam = Adam::new().learning_rate(0.02).lazy(true);
    let training = train::minimize(graph, loss.clone(), &variables.handles, &adam)?;
    let saved = [variables.saved(), training.saved("optimizer")].concat();
    let saver = train::add_saver(graph, &saved)?;
    let session = Session::new(&SessionOptions::new(), graph)?;
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
    Ok(saver.save(&session, &prefix)?)
}
