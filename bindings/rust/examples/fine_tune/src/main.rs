//! Trains a SavedModel further: a classifier whose signature "train", or "serving_default" if
//! there is none, has one float input and returns logits.
//!
//!   fine_tune MODEL DATA BATCH RATE [OUT]
//!
//! MODEL is the folder of a SavedModel; the trained one is written to OUT, by default to MODEL.
//! DATA is a folder with the training data of all steps as raw values: x, floats, and labels,
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

use tensorflow::{DataType, Output, Scope, SessionRunArgs, Tensor, ops};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn read<T>(path: &Path, from_bytes: fn([u8; 4]) -> T) -> Result<Vec<T>> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let values = bytes.chunks_exact(4);
    let values = values.map(|value| value.try_into().map(from_bytes));
    Ok(values.collect::<std::result::Result<_, _>>()?)
}

fn fine_tune(folder: &str, data: &Path, batch: &str, rate: &str, out: &str) -> Result<()> {
    let (batch, rate) = (batch.parse::<NonZero<usize>>()?.get(), rate.parse::<f64>()?);
    tensorflow_ext::load()?;
    let mut root = Scope::new_root_scope();
    let model = train::Model::load(&mut root.graph_mut(), folder, None)?;
    let inputs: Vec<&Output> = model.inputs.values().collect();
    let outputs: Vec<&Output> = model.outputs.values().collect();
    let ([input], [logits]) = (&inputs[..], &outputs[..]) else {
        return Err("expected a signature with one input and one output".into());
    };

    // The mean cross-entropy, its gradients, and a step of gradient descent.
    let scope = &mut root.new_sub_scope("fine_tune");
    let labels = ops::Placeholder::new()
        .dtype(DataType::Int32)
        .build(scope)?;
    let losses =
        ops::sparse_softmax_cross_entropy_with_logits((*logits).clone(), labels.clone(), scope)?;
    let axis = ops::constant(0, scope)?;
    let loss = ops::mean(losses, axis, scope)?;
    let sgd = train::SGD::new().learning_rate(rate);
    let training = train::minimize(&mut scope.graph_mut(), loss.clone(), &model.variables, &sgd)?;
    let mut args = SessionRunArgs::new();
    args.add_target(&training.initialize);
    model.session.run(&mut args)?;

    let all_x = read(&data.join("x"), f32::from_le_bytes)?;
    let all_labels = read(&data.join("labels"), i32::from_le_bytes)?;
    let shape: Option<Vec<Option<i64>>> = scope.graph().tensor_shape((*input).clone())?.into();
    let sizes = shape
        .iter()
        .flatten()
        .skip(1)
        .map(|size| size.map(|n| n as u64));
    let sizes: Option<Vec<u64>> = sizes.collect();
    let sizes = sizes.ok_or("expected an input whose only unknown size is the batch")?;
    let features = sizes.iter().product::<u64>() as usize;
    if all_x.len() != all_labels.len() * features || all_labels.len() % batch != 0 {
        let (x, labels) = (all_x.len(), all_labels.len());
        return Err(format!(
            "x has {x} floats for {labels} labels; expected {features} for each, and whole \
             batches of {batch}"
        )
        .into());
    }
    let shape = [&[batch as u64], &sizes[..]].concat();
    for (x, y) in all_x.chunks(batch * features).zip(all_labels.chunks(batch)) {
        let (x, y) = (Tensor::new(&shape).with_values(x)?, Tensor::from(y));
        let mut args = SessionRunArgs::new();
        args.add_feed(&input.operation, input.index, &x);
        args.add_feed(&labels, 0, &y);
        args.add_target(&training.step);
        let loss = args.request_fetch(&loss, 0);
        model.session.run(&mut args)?;
        println!("{}", args.fetch::<f32>(loss)?[0]);
    }
    Ok(model.save(out)?)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (model, data, batch, rate, out) = match &arguments[..] {
        [model, data, batch, rate] => (model, data, batch, rate, model),
        [model, data, batch, rate, out] => (model, data, batch, rate, out),
        _ => {
            eprintln!("usage: fine_tune MODEL DATA BATCH RATE [OUT]");
            return ExitCode::from(2);
        }
    };
    match fine_tune(model, Path::new(data), batch, rate, out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fine_tune: {error}");
            ExitCode::FAILURE
        }
    }
}
