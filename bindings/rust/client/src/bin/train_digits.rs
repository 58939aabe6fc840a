//! Trains the network of examples/digits in Rust. A scope builds the graph, and `minimize`
//! adds the gradients and updates. The initial values are those of Keras. Python prepares the
//! data; none of its gradients are used.
//!
//!   train_digits LIBRARY FOLDER
//!
//! LIBRARY is libtensorflow_ext.so. Each file of FOLDER is a tensor of the clients'
//! protocol: the batches (x, label, domain, with a leading axis of steps) and the settings
//! (settings: learning rate, momentum, levels, reverse scale). Prints the loss of each step.

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
use clients::train::{GlorotUniform, SGD, Zeros, minimize, new_variables};
use tensorflow::{
    DataType, Library, Operation, Output, Result, Scope, Session, SessionOptions, SessionRunArgs,
    Tensor, TensorType, ops,
};

/// The tensors in FOLDER.
struct Data(HashMap<String, Values>);

impl Data {
    fn read(folder: &Path) -> std::result::Result<Data, Box<dyn Error>> {
        let mut data = HashMap::new();
        for name in ["x", "label", "domain", "settings"] {
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

/// The graph, and the tensors that are fed, fetched and run.
struct Network {
    scope: Scope,
    initializers: [Operation; 2],
    step: Operation,
    x: Operation,
    label: Operation,
    domain: Operation,
    loss: Operation,
}

fn placeholder(data_type: DataType, scope: &mut Scope) -> Result<Operation> {
    ops::Placeholder::new().dtype(data_type).build(scope)
}

/// A layer, whose kernel and bias are the first two variables.
fn dense(x: impl Into<Output>, variables: &[Output], scope: &mut Scope) -> Result<Operation> {
    let read = ops::ReadVariableOp::new().dtype(DataType::Double);
    let product = ops::mat_mul(x, read.build(variables[0].clone(), scope)?, scope)?;
    ops::bias_add(product, read.build(variables[1].clone(), scope)?, scope)
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
        let [g1, g2, g3, g4] = [0, 1, 2, 3].map(|seed| GlorotUniform::new().seed(seed));
        let zeros = Zeros::new();
        let variables = new_variables(
            &mut scope.graph_mut(),
            &[
                ("w1", DataType::Double, &[64, 128], &g1),
                ("b1", DataType::Double, &[128], &zeros),
                ("w2", DataType::Double, &[128, 64], &g2),
                ("b2", DataType::Double, &[64], &zeros),
                ("w3", DataType::Double, &[64, 10], &g3),
                ("b3", DataType::Double, &[10], &zeros),
                ("w4", DataType::Double, &[64, 2], &g4),
                ("b4", DataType::Double, &[2], &zeros),
            ],
        )?;
        let v = &variables.handles;

        let x = placeholder(DataType::Double, scope)?;
        let label = placeholder(DataType::Int32, scope)?;
        let domain = placeholder(DataType::Int32, scope)?;
        let hidden = relu(dense(x.clone(), &v[0..], scope)?, scope)?;
        let features = relu(dense(hidden, &v[2..], scope)?, scope)?;
        // Activations with that many steps per unit: rounded in the forward pass, the identity in
        // the gradient.
        let levels = ops::constant(levels, scope)?;
        let scaled = ops::mul(features, levels.clone(), scope)?;
        let features = ops::div(round_straight_through(scaled, scope)?, levels, scope)?;
        let logits = dense(features.clone(), &v[4..], scope)?;
        let reverse = ReverseGradient::new().scale(reverse as f32);
        let reversed = reverse.build(features, scope)?;
        let domain_logits = dense(reversed, &v[6..], scope)?;
        let loss = ops::add(
            cross_entropy(&logits, &label, scope)?,
            cross_entropy(&domain_logits, &domain, scope)?,
            scope,
        )?;

        let sgd = SGD::new().learning_rate(rate).momentum(momentum);
        let training = minimize(
            &mut scope.graph_mut(),
            loss.clone(),
            &variables.handles,
            &sgd,
        )?;
        let scope = scope.new_sub_scope("");
        Ok(Network {
            scope,
            initializers: [variables.initialize, training.initialize],
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
