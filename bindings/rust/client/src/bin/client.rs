//! A client in Rust: answers the requests of the judge with the crate
//! `tensorflow`. tests/clients/README.md describes the protocol.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::ExitCode;
use std::thread;

use clients::eager_op::EagerOp;
use clients::protocol::{self as wire, Values};
use clients::tensors;
use tensorflow::{
    Code, DataType, Graph, ImportGraphDefOptions, Library, Output, OutputName, Result,
    SavedModelBundle, Scope, Session, SessionOptions, SessionRunArgs, Status, Tensor, ops,
};

/// By TensorFlow's numbers.
const CODES: [Code; 17] = [
    Code::Ok,
    Code::Cancelled,
    Code::Unknown,
    Code::InvalidArgument,
    Code::DeadlineExceeded,
    Code::NotFound,
    Code::AlreadyExists,
    Code::PermissionDenied,
    Code::ResourceExhausted,
    Code::FailedPrecondition,
    Code::Aborted,
    Code::OutOfRange,
    Code::Unimplemented,
    Code::Internal,
    Code::Unavailable,
    Code::DataLoss,
    Code::Unauthenticated,
];

/// A graph and its session, which sees nodes that are added later.
struct Client {
    graph: Graph,
    session: Session,
}

/// The tensors that a request for gradients names.
struct Gradients {
    ys: Vec<String>,
    xs: Vec<String>,
    upstreams: Vec<String>,
}

impl Gradients {
    fn read(input: &mut impl BufRead) -> io::Result<Gradients> {
        let request = Gradients {
            ys: wire::read_list(input, wire::read_string)?,
            xs: wire::read_list(input, wire::read_string)?,
            upstreams: wire::read_list(input, wire::read_string)?,
        };
        if request.ys.len() != request.upstreams.len() {
            return Err(wire::malformed("as many upstream gradients as ys"));
        }
        Ok(request)
    }
}

impl Client {
    fn import(graph_def: &[u8], target: &str) -> Result<Client> {
        let mut graph = Graph::new();
        graph.import_graph_def(graph_def, &ImportGraphDefOptions::new())?;
        let mut options = SessionOptions::new();
        options.set_target(target)?;
        let session = Session::new(&options, &graph)?;
        Ok(Client { graph, session })
    }

    fn load(folder: &str) -> Result<Client> {
        let mut graph = Graph::new();
        let options = SessionOptions::new();
        let model = SavedModelBundle::load(&options, ["serve"], &mut graph, folder)?;
        let gradients = model_gradients(folder)?;
        graph.import_graph_def(&gradients, &ImportGraphDefOptions::new())?;
        let session = model.session;
        Ok(Client { graph, session })
    }

    fn find(&self, names: &[String]) -> Result<Vec<Output>> {
        let find = |name: &String| {
            let OutputName { name, index } = name.parse()?;
            let operation = self
                .graph
                .operation_by_name(&name)?
                .ok_or_else(|| tensors::error(Code::NotFound, name))?;
            Ok(Output { operation, index })
        };
        names.iter().map(find).collect()
    }

    /// y times its upstream gradient. The gradients of the product by the xs are those of y with
    /// that upstream. (`add_gradients` frees its own upstream gradients before TensorFlow reads
    /// them.)
    fn weigh(&mut self, y: &Output, upstream: &Output) -> Result<Output> {
        let mut upstream = upstream.clone();
        if y.operation
            .output_type(y.index as usize)
            .to_string()
            .starts_with("Complex")
        {
            upstream = self.add("Conj", &[upstream])?;
        }
        self.add("Mul", &[y.clone(), upstream])
    }

    fn add(&mut self, op: &str, inputs: &[Output]) -> Result<Output> {
        let mut number = 0;
        let mut name = format!("weighed/{op}");
        while self.graph.operation_by_name(&name)?.is_some() {
            number += 1;
            name = format!("weighed/{op}_{number}");
        }
        let mut description = self.graph.new_operation(op, &name)?;
        for input in inputs {
            description.add_input(input.clone());
        }
        Ok(description.finish()?.into())
    }

    fn add_gradients(&mut self, request: &Gradients) -> Result<Vec<String>> {
        let (ys, upstreams) = (self.find(&request.ys)?, self.find(&request.upstreams)?);
        let xs = self.find(&request.xs)?;
        let pairs = ys.iter().zip(&upstreams);
        let weighed: Vec<Output> = pairs
            .map(|(y, upstream)| self.weigh(y, upstream))
            .collect::<Result<_>>()?;
        let gradients = self.graph.add_gradients(None, &weighed, &xs, None)?;
        let name = |gradient: Option<Output>| match gradient {
            Some(output) => Ok(output.name()?.to_string()),
            None => Ok(String::new()),
        };
        gradients.into_iter().map(name).collect()
    }

    fn run(&self, feeds: &[(String, Values)], fetches: &[String]) -> Result<Vec<Values>> {
        let fed: Vec<_> = feeds
            .iter()
            .map(|(_, values)| tensors::feed(values))
            .collect::<Result<_>>()?;
        let mut args = SessionRunArgs::new();
        for ((name, _), tensor) in feeds.iter().zip(&fed) {
            let outputs = self.find(std::slice::from_ref(name))?;
            tensor.feed(&mut args, &outputs[0]);
        }
        let tokens: Vec<_> = self
            .find(fetches)?
            .iter()
            .map(|output| args.request_fetch(&output.operation, output.index))
            .collect();
        self.session.run(&mut args)?;
        let mut fetched = Vec::new();
        for (index, token) in tokens.into_iter().enumerate() {
            fetched.push(tensors::fetch(&mut args, index, token)?);
        }
        Ok(fetched)
    }
}

/// The gradients that a SavedModel brings, as a serialized GraphDef.
fn model_gradients(folder: &str) -> Result<Tensor<u8>> {
    let mut scope = Scope::new_root_scope();
    let directory = ops::constant(folder.to_string(), &mut scope)?;
    let graph_def = {
        let mut graph = scope.graph_mut();
        let mut node = graph.new_operation("TfExt>SavedModelGradients", "gradients")?;
        node.add_input(directory);
        node.finish()?
    };
    // The crate's strings are UTF-8, which a serialized GraphDef is not.
    let bytes = ops::DecodeRaw::new()
        .out_type(DataType::UInt8)
        .build(graph_def, &mut scope)?;
    let session = Session::new(&SessionOptions::new(), &scope.graph())?;
    let mut args = SessionRunArgs::new();
    let token = args.request_fetch(&bytes, 0);
    session.run(&mut args)?;
    args.fetch(token)
}

/// Runs that many threads at once, each with its own graph and session.
fn run_threads(
    count: i64,
    graph_def: &[u8],
    target: &str,
    request: &Gradients,
    feeds: &[(String, Values)],
) -> Result<Vec<Vec<Values>>> {
    let work = || {
        let mut client = Client::import(graph_def, target)?;
        let gradients = client.add_gradients(request)?;
        client.run(feeds, &gradients)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| {
                let ended = thread.join();
                ended.map_err(|_| tensors::error(Code::Internal, "a thread panicked"))?
            })
            .collect()
    })
}

fn read_feed(input: &mut impl BufRead) -> io::Result<(String, Values)> {
    Ok((wire::read_string(input)?, wire::read_tensor(input)?))
}

/// Every answer begins with the status; `write` writes the rest.
fn answer<W: Write, T>(
    output: &mut W,
    result: Result<T>,
    write: impl FnOnce(&mut W, T) -> io::Result<()>,
) -> io::Result<()> {
    match result {
        Ok(value) => {
            wire::write_int(output, 0)?;
            write(output, value)
        }
        Err(status) => write_error(output, &status),
    }
}

/// The answer of a request that returns nothing.
fn answer_status<W: Write>(output: &mut W, result: Result<()>) -> io::Result<()> {
    answer(output, result, |_, ()| Ok(()))
}

fn write_error(output: &mut impl Write, status: &Status) -> io::Result<()> {
    let code = status.code();
    let number = CODES.iter().position(|known| *known == code);
    wire::write_int(output, number.map_or(2, |number| number as i64))?;
    // A status shows its code in front of its message.
    let shown = status.to_string();
    let message = shown.strip_prefix(&format!("{code}: ")).unwrap_or(&shown);
    wire::write_bytes(output, message.as_bytes())
}

/// Answers requests until the input ends.
fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut target = String::new();
    let mut current: Option<Client> = None;
    while !input.fill_buf()?.is_empty() {
        let request = wire::read_string(input)?;
        let no_graph = || wire::malformed(format!("{request} without a graph"));
        match request.as_str() {
            "library" => {
                let path = wire::read_string(input)?;
                answer_status(output, Library::load(&path).map(drop))?;
            }
            "connect" => {
                target = wire::read_string(input)?;
                answer_status(output, Ok(()))?;
            }
            "import" => {
                let graph_def = wire::read_bytes(input)?;
                let client = Client::import(&graph_def, &target);
                answer_status(output, client.map(|client| current = Some(client)))?;
            }
            "saved_model" => {
                let client = Client::load(&wire::read_string(input)?);
                answer_status(output, client.map(|client| current = Some(client)))?;
            }
            "add" => {
                let graph_def = wire::read_bytes(input)?;
                let graph = &mut current.as_mut().ok_or_else(no_graph)?.graph;
                let added = graph.import_graph_def(&graph_def, &ImportGraphDefOptions::new());
                answer_status(output, added.map(drop))?;
            }
            "export" => {
                let client = current.as_ref().ok_or_else(no_graph)?;
                answer(output, client.graph.graph_def(), |output, graph_def| {
                    wire::write_bytes(output, &graph_def)
                })?;
            }
            "gradients" => {
                let gradients = Gradients::read(input)?;
                let client = current.as_mut().ok_or_else(no_graph)?;
                answer(output, client.add_gradients(&gradients), |output, names| {
                    wire::write_list(output, &names, |to, name| {
                        wire::write_bytes(to, name.as_bytes())
                    })
                })?;
            }
            "run" => {
                let feeds = wire::read_list(input, read_feed)?;
                let fetches = wire::read_list(input, wire::read_string)?;
                let client = current.as_ref().ok_or_else(no_graph)?;
                answer(output, client.run(&feeds, &fetches), |output, tensors| {
                    wire::write_list(output, &tensors, wire::write_tensor)
                })?;
            }
            "eager" => {
                let op = EagerOp::read(input)?;
                answer(output, op.run(), |output, results| {
                    let write =
                        |tensors: &Vec<_>| wire::write_list(output, tensors, wire::write_tensor);
                    results.iter().try_for_each(write)
                })?;
            }
            "threads" => {
                let count = wire::read_int(input)?;
                let graph_def = wire::read_bytes(input)?;
                let gradients = Gradients::read(input)?;
                let feeds = wire::read_list(input, read_feed)?;
                let results = run_threads(count, &graph_def, &target, &gradients, &feeds);
                answer(output, results, |output, threads| {
                    wire::write_list(output, &threads, |to, tensors| {
                        wire::write_list(to, tensors, wire::write_tensor)
                    })
                })?;
            }
            other => return Err(wire::malformed(other)),
        }
        output.flush()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = BufWriter::new(io::stdout().lock());
    match serve(&mut input, &mut output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("malformed request: {error}");
            ExitCode::FAILURE
        }
    }
}
