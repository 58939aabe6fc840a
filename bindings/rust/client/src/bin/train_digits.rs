// SPDX-License-Identifier: Apache-2.0
//! Trains the network of examples/digits in Rust. A scope builds the graph, and `minimize`
//! adds the gradients and updates. Python prepares the data; none of its gradients are used.
//!
//!   train_digits LIBRARY FOLDER
//!
//! LIBRARY is libtensorflow_ext.so. Each file of FOLDER is a tensor of the clients'
//! protocol: the batches (x, label, domain, with a leading axis of steps), the initial
//! weights (w1, b1, ...) and the settings (settings: learning rate, momentum, levels,
//! reverse scale). Prints the loss of each step.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use clients::protocol::{self, Content, Values};
use clients::tensorflow_ext::{ReverseGradient, relu, round_straight_through};
use clients::tensors;
use clients::train::{SGD, minimize};
use tensorflow::{
    DataType, Library, Operation, Output, Result, Scope, Session, SessionOptions, SessionRunArgs,
    Shape, Tensor, TensorType, ops,
};

const WEIGHTS: [&str; 8] = ["w1", "b1", "w2", "b2", "w3", "b3", "w4", "b4"];

/// The tensors in FOLDER.
struct Data(HashMap<String, Values>);

impl Data {
    fn read(folder: &Path) -> std::result::Result<Data, Box<dyn Error>> {
        let others = ["x", "label", "domain", "settings"];
        let mut data = HashMap::new();
        for name in others.iter().chain(&WEIGHTS) {
            let path = folder.join(name);
            let values = File::open(&path)
                .and_then(|file| protocol::read_tensor(&mut BufReader::new(file)))
                .map_err(|error| format!("{}: {error}", path.display()))?;
            data.insert(name.to_string(), values);
        }
        Ok(Data(data))
    }

    fn tensor<T: TensorType>(&self, name: &str) -> Result<Tensor<T>> {
        let values = &self.0[name];
        tensors::tensor(&values.shape, bytes(values))
    }

    fn steps(&self) -> u64 {
        self.0["x"].shape[0]
    }

    /// The batch of one step.
    fn batch<T: TensorType>(&self, name: &str, step: u64) -> Result<Tensor<T>> {
        let values = &self.0[name];
        let size = bytes(values).len() / values.shape[0] as usize;
        let first = step as usize * size;
        tensors::tensor(&values.shape[1..], &bytes(values)[first..first + size])
    }
}

fn bytes(values: &Values) -> &[u8] {
    match &values.content {
        Content::Plain(bytes) => bytes,
        Content::Strings(_) => &[],
    }
}

/// A variable: its handle, and the value that the graph reads.
struct Variable {
    handle: Operation,
    value: Output,
}

/// The graph, and the tensors that are fed, fetched and run.
struct Network {
    scope: Scope,
    initializers: Vec<Operation>,
    step: Operation,
    x: Operation,
    label: Operation,
    domain: Operation,
    loss: Operation,
}

fn placeholder(data_type: DataType, scope: &mut Scope) -> Result<Operation> {
    ops::Placeholder::new().dtype(data_type).build(scope)
}

fn dense(
    x: impl Into<Output>,
    [weights, bias]: [&Variable; 2],
    scope: &mut Scope,
) -> Result<Operation> {
    let product = ops::mat_mul(x, weights.value.clone(), scope)?;
    ops::bias_add(product, bias.value.clone(), scope)
}

/// The mean cross-entropy, summed as Keras sums it.
fn cross_entropy(logits: &Operation, labels: &Operation, scope: &mut Scope) -> Result<Operation> {
    let losses =
        ops::sparse_softmax_cross_entropy_with_logits(logits.clone(), labels.clone(), scope)?;
    let axis = ops::constant(0, scope)?;
    ops::mean(losses, axis, scope)
}

impl Network {
    fn new(data: &Data) -> Result<Network> {
        let settings = data.tensor::<f64>("settings")?;
        let [rate, momentum, levels, reverse] = [0, 1, 2, 3].map(|i| settings[i]);
        let scope = &mut Scope::new_root_scope();
        let mut initializers = Vec::new();
        let mut variable = |name: &str, value: Tensor<f64>, scope: &mut Scope| {
            let shape = Shape::from(value.dims());
            let handle = ops::VarHandleOp::new()
                .dtype(DataType::Double)
                .shape(shape)
                .shared_name(name)
                .build(&mut scope.with_op_name(name))?;
            let value = ops::constant(value, scope)?;
            initializers.push(ops::assign_variable_op(handle.clone(), value, scope)?);
            let read = ops::ReadVariableOp::new().dtype(DataType::Double);
            let value = read.build(handle.clone(), scope)?.into();
            Result::Ok(Variable { handle, value })
        };
        let mut weights = Vec::new();
        for name in WEIGHTS {
            weights.push(variable(name, data.tensor(name)?, scope)?);
        }
        let [w1, b1, w2, b2, w3, b3, w4, b4] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| &weights[i]);

        let x = placeholder(DataType::Double, scope)?;
        let label = placeholder(DataType::Int32, scope)?;
        let domain = placeholder(DataType::Int32, scope)?;
        let hidden = relu(dense(x.clone(), [w1, b1], scope)?, scope)?;
        let features = relu(dense(hidden, [w2, b2], scope)?, scope)?;
        // Activations with that many steps per unit: rounded in the forward pass, the identity in
        // the gradient.
        let levels = ops::constant(levels, scope)?;
        let scaled = ops::mul(features, levels.clone(), scope)?;
        let features = ops::div(round_straight_through(scaled, scope)?, levels, scope)?;
        let logits = dense(features.clone(), [w3, b3], scope)?;
        let reverse = ReverseGradient::new().scale(reverse as f32);
        let reversed = reverse.build(features, scope)?;
        let domain_logits = dense(reversed, [w4, b4], scope)?;
        let loss = ops::add(
            cross_entropy(&logits, &label, scope)?,
            cross_entropy(&domain_logits, &domain, scope)?,
            scope,
        )?;

        let handles: Vec<Output> = weights.iter().map(|w| w.handle.clone().into()).collect();
        let sgd = SGD::new().learning_rate(rate).momentum(momentum);
        let training = minimize(&mut scope.graph_mut(), loss.clone(), &handles, &sgd)?;
        initializers.push(training.initialize);
        let scope = scope.new_sub_scope("");
        Ok(Network {
            scope,
            initializers,
            step: training.step,
            x,
            label,
            domain,
            loss,
        })
    }

    /// Prints the loss of each step.
    fn train(&self, session: &Session, data: &Data) -> Result<()> {
        for step in 0..data.steps() {
            let x = data.batch::<f64>("x", step)?;
            let label = data.batch::<i32>("label", step)?;
            let domain = data.batch::<i32>("domain", step)?;
            let mut args = SessionRunArgs::new();
            args.add_feed(&self.x, 0, &x);
            args.add_feed(&self.label, 0, &label);
            args.add_feed(&self.domain, 0, &domain);
            args.add_target(&self.step);
            let loss = args.request_fetch(&self.loss, 0);
            session.run(&mut args)?;
            println!("{}", args.fetch::<f64>(loss)?[0]);
        }
        Ok(())
    }
}

fn train(library: &str, folder: &Path) -> std::result::Result<(), Box<dyn Error>> {
    Library::load(library)?;
    let data = Data::read(folder)?;
    let network = Network::new(&data)?;
    let session = Session::new(&SessionOptions::new(), &network.scope.graph())?;
    let mut args = SessionRunArgs::new();
    network
        .initializers
        .iter()
        .for_each(|initializer| args.add_target(initializer));
    session.run(&mut args)?;
    Ok(network.train(&session, &data)?)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [library, folder] = arguments.as_slice() else {
        eprintln!("usage: train_digits LIBRARY FOLDER");
        return ExitCode::from(2);
    };
    match train(library, Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("train_digits: {error}");
            ExitCode::FAILURE
        }
    }
}
