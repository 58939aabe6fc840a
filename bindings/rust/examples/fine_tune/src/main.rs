// SPDX-License-Identifier: Apache-2.0
//! Trains a SavedModel further: a classifier whose signature "train", or "serving_default" if
//! there is none, has one float input and returns logits.
//!
//!   fine_tune MODEL DATA BATCH RATE
//!
//! MODEL is the folder of a SavedModel; its variables are overwritten at the end. DATA is
//! a folder with the training data of all steps as raw values: x, floats, and labels,
//! 32-bit integers. BATCH is the number of examples per step, RATE the learning rate.
//! Prints the loss of each step. The environment variable TENSORFLOW_EXT_LIBRARY is the
//! path of libtensorflow_ext.so.

/// `python -m tensorflow_ext wrappers --rust --write src/tensorflow_ext.rs`
mod tensorflow_ext;
/// `python -m tensorflow_ext wrappers --rust --train --write src/train.rs`
mod train;

use std::error::Error;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use tensorflow::{
    DataType, Graph, ImportGraphDefOptions, Operation, Output, OutputName, SavedModelBundle, Scope,
    Session, SessionOptions, SessionRunArgs, Tensor, TensorType, ops,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The SavedModel's own information.
struct Model {
    input: Output,
    /// The shape of an example, without the batch.
    shape: Vec<u64>,
    logits: Output,
    /// The handles of the trainable variables.
    variables: Vec<Output>,
    saver_filename: Output,
    saver_copies: Vec<Operation>,
    saver_save: Output,
}

fn find(graph: &Graph, name: &str) -> Result<Output> {
    let OutputName { name, index } = name.parse()?;
    let operation = graph.operation_by_name_required(&name)?;
    Ok(Output { operation, index })
}

/// Runs a graph of its own, and returns two tensors of it.
fn compute<A: TensorType, B: TensorType>(
    scope: &Scope,
    first: Output,
    second: Output,
) -> Result<(Tensor<A>, Tensor<B>)> {
    let session = Session::new(&SessionOptions::new(), &scope.graph())?;
    let mut args = SessionRunArgs::new();
    let first = args.request_fetch(&first.operation, first.index);
    let second = args.request_fetch(&second.operation, second.index);
    session.run(&mut args)?;
    Ok((args.fetch(first)?, args.fetch(second)?))
}

/// The lines that `TfExt>DescribeSavedModel` returns, and the gradients that the model brings
/// (`tf.custom_gradient`) as a serialized GraphDef.
fn describe(folder: &str) -> Result<(Tensor<String>, Tensor<u8>)> {
    let mut scope = Scope::new_root_scope();
    let directory = ops::constant(folder.to_string(), &mut scope)?;
    let lines = tensorflow_ext::describe_saved_model(directory.clone(), &mut scope)?;
    let graph_def = tensorflow_ext::saved_model_gradients(directory, &mut scope)?;
    // The crate's strings are UTF-8, which a serialized GraphDef is not.
    let bytes = ops::DecodeRaw::new()
        .out_type(DataType::UInt8)
        .build(graph_def, &mut scope)?;
    compute(&scope, lines.into(), bytes.into())
}

/// The nodes that compute `output` without calls of functions, as a serialized GraphDef, and the
/// name of the tensor that replaces it.
fn inlined(graph_def: &[u8], output: &Output) -> Result<(Tensor<u8>, Tensor<String>)> {
    let mut scope = Scope::new_root_scope();
    let graph_def = ops::constant(graph_def, &mut scope)?;
    let outputs = ops::constant([output.name()?.to_string()], &mut scope)?;
    let copy = tensorflow_ext::InlineCalls::new().build_instance(graph_def, outputs, &mut scope)?;
    compute(&scope, copy.nodes(), copy.inlined())
}

impl Model {
    /// Reads a model whose nodes are in the graph, and makes the graph use its gradients.
    fn read(folder: &str, graph: &mut Graph) -> Result<Model> {
        let (mut inputs, mut outputs, mut variables) = (vec![], vec![], vec![]);
        let (mut filename, mut copies, mut save) = (None, vec![], None);
        let (lines, gradients) = describe(folder)?;
        graph.import_graph_def(&gradients, &ImportGraphDefOptions::new())?;
        let has_train = lines
            .iter()
            .any(|line| line.starts_with("signature\ttrain\t"));
        let signature = if has_train {
            "train"
        } else {
            "serving_default"
        };
        for line in lines.iter() {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields[..] {
                ["signature", owner, ..] if owner != signature => {}
                ["signature", _, "input", _, name, "float", shape] => {
                    inputs.push((find(graph, name)?, shape));
                }
                ["signature", _, "output", _, name, ..] => {
                    outputs.push(find(graph, name)?);
                }
                ["signature", _, "variable", name, .., "trainable"] => {
                    variables.push(find(graph, name)?);
                }
                ["saver", "filename", name] => filename = Some(find(graph, name)?),
                ["saver", "copy", name] => copies.push(find(graph, name)?.operation),
                ["saver", "save", name] => save = Some(find(graph, name)?),
                _ => {}
            }
        }
        if variables.is_empty() {
            return Err("expected a model with trainable variables".into());
        }
        let ([(input, shape)], [logits]) = (&inputs[..], &outputs[..]) else {
            return Err("expected a signature with one input, of floats, and one output".into());
        };
        // A shape such as [-1,64].
        let sizes = shape.trim_matches(['[', ']']).split(',').skip(1);
        Ok(Model {
            input: input.clone(),
            shape: sizes
                .map(str::parse)
                .collect::<std::result::Result<_, _>>()?,
            logits: logits.clone(),
            variables,
            saver_filename: filename.ok_or("expected a model with a saver")?,
            saver_copies: copies,
            saver_save: save.ok_or("expected a model with a saver")?,
        })
    }

    /// Adds a copy of the model's nodes to the graph, in which plain nodes replace the calls of
    /// functions, and uses it from now on. A copied variable is the same one to the session,
    /// because sessions know variables by the attribute `shared_name`.
    fn inline_calls(&mut self, graph: &mut Graph) -> Result<()> {
        let mut graph_def = graph.graph_def()?;
        let (nodes, inlined) = inlined(&graph_def, &self.logits)?;
        // The bytes of two messages are those of one that has the nodes of both.
        graph_def.extend_from_slice(&nodes);
        let mut options = ImportGraphDefOptions::new();
        options.set_prefix("inlined")?;
        graph.import_graph_def(&graph_def, &options)?;
        self.logits = find(graph, &format!("inlined/{}", inlined[0]))?;
        for tensor in self.variables.iter_mut().chain([&mut self.input]) {
            *tensor = find(graph, &format!("inlined/{}", tensor.name()?))?;
        }
        Ok(())
    }
}

/// The additions to the model's graph.
struct Step {
    labels: Operation,
    loss: Operation,
    training: train::Training,
}

/// Adds the mean cross-entropy, its gradients, and a step of gradient descent.
fn add_step(model: &Model, rate: f64, scope: &mut Scope) -> Result<Step> {
    let labels = ops::Placeholder::new()
        .dtype(DataType::Int32)
        .build(scope)?;
    let losses =
        ops::sparse_softmax_cross_entropy_with_logits(model.logits.clone(), labels.clone(), scope)?;
    let axis = ops::constant(0, scope)?;
    let loss = ops::mean(losses, axis, scope)?;
    let sgd = train::SGD::new().learning_rate(rate);
    let training = train::minimize(&mut scope.graph_mut(), loss.clone(), &model.variables, &sgd)?;
    Ok(Step {
        labels,
        loss,
        training,
    })
}

fn read<T>(path: &Path, from_bytes: fn([u8; 4]) -> T) -> Result<Vec<T>> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let values = bytes.chunks_exact(4);
    let values = values.map(|value| value.try_into().map(from_bytes));
    Ok(values.collect::<std::result::Result<_, _>>()?)
}

/// Writes the variables into the folder from which they came, with the model's own saver.
fn save(model: &Model, session: &Session, folder: &str) -> Result<()> {
    // Keras exports each variable twice; Python reads the copy.
    let mut args = SessionRunArgs::new();
    model
        .saver_copies
        .iter()
        .for_each(|copy| args.add_target(copy));
    session.run(&mut args)?;
    let prefix = Tensor::from(format!("{folder}/variables/variables"));
    let mut args = SessionRunArgs::new();
    let (filename, save) = (&model.saver_filename, &model.saver_save);
    args.add_feed(&filename.operation, filename.index, &prefix);
    args.request_fetch(&save.operation, save.index);
    Ok(session.run(&mut args)?)
}

fn fine_tune(folder: &str, data: &Path, batch: &str, rate: &str) -> Result<()> {
    let (batch, rate) = (batch.parse::<NonZero<usize>>()?.get(), rate.parse()?);
    tensorflow_ext::load()?;
    // The model is loaded into this scope's graph.
    let mut root = Scope::new_root_scope();
    let options = SessionOptions::new();
    let bundle = SavedModelBundle::load(&options, ["serve"], &mut root.graph_mut(), folder)?;
    let session = bundle.session;
    let mut model = Model::read(folder, &mut root.graph_mut())?;
    model.inline_calls(&mut root.graph_mut())?;
    let scope = &mut root.new_sub_scope("fine_tune");
    let step = add_step(&model, rate, scope)?;
    let mut args = SessionRunArgs::new();
    args.add_target(&step.training.initialize);
    session.run(&mut args)?;

    let x = read(&data.join("x"), f32::from_le_bytes)?;
    let labels = read(&data.join("labels"), i32::from_le_bytes)?;
    let features = model.shape.iter().product::<u64>() as usize;
    if x.len() != labels.len() * features || labels.len() % batch != 0 {
        return Err(format!(
            "x has {} floats for {} labels; expected {features} for each, and whole batches \
             of {batch}",
            x.len(),
            labels.len()
        )
        .into());
    }
    let shape = [&[batch as u64], &model.shape[..]].concat();
    for (x, labels) in x.chunks(batch * features).zip(labels.chunks(batch)) {
        let x = Tensor::new(&shape).with_values(x)?;
        let labels = Tensor::from(labels);
        let mut args = SessionRunArgs::new();
        args.add_feed(&model.input.operation, model.input.index, &x);
        args.add_feed(&step.labels, 0, &labels);
        args.add_target(&step.training.step);
        let loss = args.request_fetch(&step.loss, 0);
        session.run(&mut args)?;
        println!("{}", args.fetch::<f32>(loss)?[0]);
    }
    save(&model, &session, folder)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [model, data, batch, rate] = &arguments[..] else {
        eprintln!("usage: fine_tune MODEL DATA BATCH RATE");
        return ExitCode::from(2);
    };
    match fine_tune(model, Path::new(data), batch, rate) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fine_tune: {error}");
            ExitCode::FAILURE
        }
    }
}
