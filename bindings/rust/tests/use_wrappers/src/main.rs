//! Prints what the functions beside the typed ops give: NAME NUMBER... for tensors, with "none" for
//! a gradient that is not there; NAME! MESSAGE for an error. tests/wrappers checks them.
//!
//!   use_wrappers          loads the library that TENSORFLOW_EXT_LIBRARY names, and tests gradients
//!   use_wrappers load     only loads it
//!   use_wrappers load F   loads the file F

mod tensorflow_ext;
mod train;

use std::env;
use std::slice;

use tensorflow::train::{AdadeltaOptimizer, GradientDescentOptimizer, Optimizer};
use tensorflow::{
    DataType, Graph, Operation, Output, Result, Scope, Session, SessionOptions, SessionRunArgs,
    Shape, Tensor, Variable, ops,
};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [] => {}
        [_, file] => return print_error("load", tensorflow_ext::load_file(file).map(|_| ())),
        _ => return print_error("load", tensorflow_ext::load().map(|_| ())),
    }
    tensorflow_ext::load()?;
    tensorflow_ext::load()?;
    gradients()?;
    errors()?;
    training()?;
    let mut root = Scope::new_root_scope();
    let descent = GradientDescentOptimizer::new(ops::constant(0.05f64, &mut root)?);
    minimize("descent", &descent, root)?;
    let mut root = Scope::new_root_scope();
    let mut adadelta = AdadeltaOptimizer::new();
    adadelta.set_learning_rate(ops::constant(10f64, &mut root)?);
    adadelta.set_rho(ops::constant(0.5f64, &mut root)?);
    adadelta.set_epsilon(ops::constant(1e-4f64, &mut root)?);
    minimize("adadelta", &adadelta, root)
}

fn print_error(name: &str, result: Result<()>) -> Result<()> {
    match result {
        Ok(()) => println!("{name}"),
        Err(status) => println!("{name}! {status}"),
    }
    Ok(())
}

fn print(session: &Session, name: &str, tensors: &[Option<Output>]) -> Result<()> {
    let mut line = name.to_string();
    for tensor in tensors {
        let Some(tensor) = tensor else {
            line += " none";
            continue;
        };
        let mut args = SessionRunArgs::new();
        let fetch = args.request_fetch(&tensor.operation, tensor.index);
        session.run(&mut args)?;
        for value in args.fetch::<f64>(fetch)?.iter() {
            line += &format!(" {value}");
        }
    }
    println!("{line}");
    Ok(())
}

fn vector(values: [f64; 3], scope: &mut Scope) -> Result<Output> {
    Ok(ops::constant(&values[..], scope)?.into())
}

fn gradients() -> Result<()> {
    let scope = &mut Scope::new_root_scope();
    let x = vector([1., 2., 3.], scope)?;
    let w = vector([4., 5., 6.], scope)?;
    let unread: Output = ops::VarHandleOp::new()
        .dtype(DataType::Double)
        .shape(Shape::from(&[3u64][..]))
        .build(scope)?
        .into();
    let square: Output = ops::square(x.clone(), scope)?.into();
    let product: Output = ops::mul(x.clone(), w.clone(), scope)?.into();
    let (squares, products) = (slice::from_ref(&square), slice::from_ref(&product));
    let both = &[square.clone(), product.clone()];
    let mut found = Vec::new();
    let mut add = |name, ys: &[Output], xs: &[&Output], upstream| -> Result<Option<Output>> {
        let xs: Vec<Output> = xs.iter().map(|&x| x.clone()).collect();
        let gradients = tensorflow_ext::gradients(ys, &xs, upstream, scope)?;
        let first = gradients[0].clone();
        found.push((name, gradients));
        Ok(first)
    };
    let upstreams = &[w.clone(), x.clone()];
    let (of_w, of_x) = (&[w.clone()][..], &[x.clone()][..]);
    add("several", products, &[&x, &w, &x], None)?;
    add("unconnected", squares, &[&w, &x, &unread], None)?;
    add("all_unconnected", squares, &[&w, &unread], None)?;
    add("y_itself", squares, &[&square], None)?;
    add("upstream", both, &[&x], Some(upstreams))?;
    add("upstream_of_x", squares, &[&x, &w], Some(of_x))?;
    let first = add("first", squares, &[&x], Some(of_w))?.expect("a gradient");
    add("by_upstream", &[first], &[&w], None)?;
    let session = Session::new(&SessionOptions::new(), &scope.graph())?;
    for (name, gradients) in &found {
        print(&session, name, gradients)?;
    }
    Ok(())
}

/// Minimizes x * x + x from x = 3 with a scaled loss, and prints x.
fn training() -> Result<()> {
    let scope = &mut Scope::new_root_scope();
    let three = train::Constant::new().value(3.0);
    let specs = [("x", DataType::Double, &[][..], &three as _)];
    let variables = train::new_variables(&mut scope.graph_mut(), &specs)?;
    let handles = &variables.handles;
    let read = ops::ReadVariableOp::new().dtype(DataType::Double);
    let x: Output = read.build(handles[0].clone(), scope)?.into();
    let square = ops::square(x.clone(), scope)?;
    let loss = ops::add(square, x.clone(), scope)?;

    let graph = &mut scope.graph_mut();
    let again = train::new_variables(graph, &specs);
    print_error("same_name", again.map(|_| ()))?;
    let decay = train::CosineDecay::new(f64::NAN, 1.0);
    let sgd = train::SGD::new().learning_rate(decay);
    let not_finite = train::minimize(graph, loss.clone(), handles, &sgd);
    print_error("not_finite", not_finite.map(|_| ()))?;
    // Another graph with a variable of this name.
    let other = &mut Graph::new();
    let others = train::new_variables(other, &specs)?;
    let other_loss = train::minimize(other, loss.clone(), &others.handles, &sgd);
    print_error("other_loss", other_loss.map(|_| ()))?;
    let other_saver = train::add_saver(graph, &others.saved());
    print_error("other_saver", other_saver.map(|_| ()))?;
    let scaling = train::LossScaleOptimizer::new(&sgd.learning_rate(0.25));
    let training = train::minimize(graph, loss, handles, &scaling)?;
    let saved = [variables.saved(), training.saved("optimizer")].concat();
    let saver = train::add_saver(graph, &saved)?;
    let session = Session::new(&SessionOptions::new(), graph)?;
    for target in [
        &variables.initialize,
        &training.initialize,
        &training.step,
        &training.step,
    ] {
        let mut args = SessionRunArgs::new();
        args.add_target(target);
        session.run(&mut args)?;
    }
    print(&session, "loss_scale", &[Some(x)])?;
    let names: Vec<&str> = saved.iter().map(|(_, name)| &name[..]).collect();
    println!("saved {}", names.join(" "));
    print_error("no_file", saver.restore(&session, "/nowhere/model"))
}

fn errors() -> Result<()> {
    let scope = &mut Scope::new_root_scope();
    let x = &[vector([1., 2., 3.], scope)?];
    let scalar = ops::constant(1.0f64, scope)?.into();
    let shape = tensorflow_ext::gradients(x, x, Some(&[scalar]), scope);
    print_error("upstream_shape", shape.map(|_| ()))?;
    let mut missing = x[0].clone();
    missing.index = 1;
    let missing = tensorflow_ext::gradients(x, &[missing], None, scope);
    print_error("missing_x", missing.map(|_| ()))?;
    let number = tensorflow_ext::gradients(x, x, Some(&[]), scope);
    print_error("upstream_number", number.map(|_| ()))
}

fn variable(value: f64, scope: &mut Scope) -> Result<Variable> {
    Variable::builder()
        .const_initial_value(Tensor::from(value))
        .build(scope)
}

/// Prints the variables a and b after 20 steps that minimize (a * b - 3)^2, and one that the loss
/// does not depend on.
fn minimize(name: &str, optimizer: &impl Optimizer, mut root: Scope) -> Result<()> {
    let scope = &mut root;
    let mut variables = vec![variable(1., scope)?, variable(2., scope)?];
    let product = ops::mul(
        variables[0].output().clone(),
        variables[1].output().clone(),
        scope,
    )?;
    let three = ops::constant(3.0f64, scope)?;
    let error = ops::sub(product, three, scope)?;
    let loss: Output = ops::square(error, scope)?.into();
    let unused = variable(7., scope)?;
    let alone = slice::from_ref(&unused);
    let nothing = tensorflow_ext::minimize(optimizer, loss.clone(), alone, scope);
    print_error(name, nothing.map(|_| ()))?;
    variables.push(unused);
    let (own, step) = tensorflow_ext::minimize(optimizer, loss, &variables, scope)?;
    let session = Session::new(&SessionOptions::new(), &scope.graph())?;
    let run = |operation: &Operation| {
        let mut args = SessionRunArgs::new();
        args.add_target(operation);
        session.run(&mut args)
    };
    variables
        .iter()
        .chain(&own)
        .try_for_each(|v| run(v.initializer()))?;
    for _ in 0..20 {
        run(&step)?;
    }
    let values: Vec<_> = variables.iter().map(|v| Some(v.output().clone())).collect();
    print(&session, name, &values)
}
