// A client in C++: answers the requests of the judge with Scope and AddSymbolicGradients. (The
// wheel has no ClientSession: NewSession and GraphDef do the same.)
// tests/clients/README.md describes the protocol.

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/saved_model/reader.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/use_model_gradients.h"

namespace {

// TfExt_ModelGradients of the library that was loaded, or null.
decltype(&TfExt_ModelGradients) model_gradients = nullptr;

}  // namespace

// UseModelGradients calls this. A program that links the library has the function from there.
void TfExt_ModelGradients(const TF_Buffer* meta_graph_def, TF_Buffer* graph_def,
                          TF_Status* status) {
  model_gradients(meta_graph_def, graph_def, status);
}

namespace {

using tensorflow::Output;
using tensorflow::Tensor;
using Names = std::vector<std::string>;  // "node:index"
using Feeds = std::vector<std::pair<std::string, Tensor>>;

// Reading requests and writing answers.

void Require(bool condition, const std::string& what) {
  if (condition) return;
  std::cerr << "malformed request: " << what << "\n";
  std::exit(1);
}

void Read(void* to, size_t size) {
  std::cin.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
  Require(!std::cin.fail(), "it ends too early");
}

int64_t ReadInt() {
  int64_t value;
  Read(&value, sizeof(value));
  return value;
}

std::string ReadBytes() {
  std::string bytes(ReadInt(), '\0');
  Read(bytes.data(), bytes.size());
  return bytes;
}

Names ReadNames() {
  Names names(ReadInt());
  for (std::string& name : names) name = ReadBytes();
  return names;
}

Tensor ReadTensor() {
  auto dtype = static_cast<tensorflow::DataType>(ReadInt());
  tensorflow::TensorShape shape;
  for (int64_t rank = ReadInt(); rank > 0; --rank) shape.AddDim(ReadInt());
  Tensor tensor(dtype, shape);
  if (dtype == tensorflow::DT_STRING) {
    Require(ReadInt() == tensor.NumElements(), "a tensor of another size");
    auto strings = tensor.flat<tensorflow::tstring>();
    for (int64_t i = 0; i < strings.size(); ++i) strings(i) = ReadBytes();
    return tensor;
  }
  std::string bytes = ReadBytes();
  Require(bytes.size() == tensor.TotalBytes(), "a tensor of another size");
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

Feeds ReadFeeds() {
  Feeds feeds(ReadInt());
  for (auto& [name, tensor] : feeds) {
    name = ReadBytes();
    tensor = ReadTensor();
  }
  return feeds;
}

void WriteInt(int64_t value) {
  std::cout.write(reinterpret_cast<const char*>(&value), sizeof(value));
}

void WriteBytes(absl::string_view bytes) {
  WriteInt(static_cast<int64_t>(bytes.size()));
  std::cout.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void WriteTensor(const Tensor& tensor) {
  WriteInt(tensor.dtype());
  WriteInt(tensor.dims());
  for (int64_t dim : tensor.shape().dim_sizes()) WriteInt(dim);
  if (tensor.dtype() != tensorflow::DT_STRING) {
    WriteBytes(tensor.tensor_data());
    return;
  }
  const auto strings = tensor.flat<tensorflow::tstring>();
  WriteInt(strings.size());
  for (int64_t i = 0; i < strings.size(); ++i) WriteBytes(strings(i));
}

void WriteTensors(const std::vector<Tensor>& tensors) {
  WriteInt(static_cast<int64_t>(tensors.size()));
  for (const Tensor& tensor : tensors) WriteTensor(tensor);
}

// Every answer begins with the status. Returns true if more must follow.
bool WriteStatus(const absl::Status& status) {
  WriteInt(status.raw_code());
  if (!status.ok()) WriteBytes(status.message());
  return status.ok();
}

absl::Status LoadLibrary(const std::string& path) {
  TF_Status* status = TF_NewStatus();
  TF_Library* library = TF_LoadLibrary(path.c_str(), status);
  if (library != nullptr) TF_DeleteLibraryHandle(library);
  absl::Status result = tensorflow::StatusFromTF_Status(status);
  TF_DeleteStatus(status);
  void* loaded = result.ok() ? dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) : nullptr;
  void* function = loaded != nullptr ? dlsym(loaded, "TfExt_ModelGradients") : nullptr;
  if (function != nullptr) model_gradients = reinterpret_cast<decltype(model_gradients)>(function);
  return result;
}

// A graph, and its session from the first run on.
class Graph {
 public:
  explicit Graph(std::string target = "") : target_(std::move(target)) {}

  absl::Status Add(const std::string& serialized) {
    tensorflow::GraphDef graph_def;
    Require(graph_def.ParseFromString(serialized), "not a GraphDef");
    return Add(graph_def);
  }

  absl::Status LoadSavedModel(const std::string& folder) {
    folder_ = folder;
    TF_RETURN_IF_ERROR(tensorflow::ReadMetaGraphDefFromSavedModel(folder, {"serve"}, &meta_graph_));
    TF_RETURN_IF_ERROR(Add(meta_graph_.graph_def()));
    if (model_gradients == nullptr) return absl::OkStatus();
    return tensorflow_ext::UseModelGradients(scope_, meta_graph_);
  }

  absl::Status Export(std::string* serialized) const {
    tensorflow::GraphDef graph_def;
    TF_RETURN_IF_ERROR(scope_.ToGraphDef(&graph_def));
    Require(graph_def.SerializeToString(serialized), "too large a graph");
    return absl::OkStatus();
  }

  absl::Status AddGradients(const Names& ys, const Names& xs, const Names& upstreams,
                            std::vector<Output>* gradients) {
    session_.reset();  // It would not see the new nodes.
    return AddSymbolicGradients(scope_, Find(ys), Find(xs), Find(upstreams), gradients);
  }

  absl::Status Run(const Feeds& feeds, const Names& fetches, std::vector<Tensor>* results) {
    if (session_ == nullptr) TF_RETURN_IF_ERROR(MakeSession());
    return session_->Run(feeds, fetches, {}, results);
  }

 private:
  absl::Status Add(const tensorflow::GraphDef& graph_def) {
    session_.reset();
    const int before = scope_.graph()->num_node_ids();
    TF_RETURN_IF_ERROR(ImportGraphDef({}, graph_def, scope_.graph(), nullptr));
    // The scope must infer the shapes of nodes that others added before gradients can follow; the
    // nodes are in topological order.
    for (tensorflow::Node* node : scope_.graph()->op_nodes()) {
      if (node->id() < before) continue;
      TF_RETURN_IF_ERROR(scope_.DoShapeInference(node));
    }
    return absl::OkStatus();
  }

  // The graph of a SavedModel has the model's variables.
  absl::Status MakeSession() {
    tensorflow::GraphDef graph_def;
    TF_RETURN_IF_ERROR(scope_.ToGraphDef(&graph_def));
    tensorflow::SessionOptions options;
    options.target = target_;
    session_.reset(tensorflow::NewSession(options));
    TF_RETURN_IF_ERROR(session_->Create(graph_def));
    const tensorflow::SaverDef& saver = meta_graph_.saver_def();
    if (saver.restore_op_name().empty()) return absl::OkStatus();
    const tensorflow::tstring prefix(folder_ + "/variables/variables");
    return session_->Run({{saver.filename_tensor_name(), Tensor(prefix)}}, {},
                         {saver.restore_op_name()}, nullptr);
  }

  // The tensors with these names, "node:index".
  std::vector<Output> Find(const Names& names) const {
    std::vector<Output> outputs;
    for (const std::string& name : names) {
      size_t colon = name.rfind(':');
      int index;
      Require(colon != name.npos && absl::SimpleAtoi(&name[colon + 1], &index),
              "a tensor's name, " + name);
      for (tensorflow::Node* node : scope_.graph()->op_nodes()) {
        if (node->name() != name.substr(0, colon)) continue;
        outputs.emplace_back(node, index);
      }
    }
    Require(outputs.size() == names.size(), "a name that the graph lacks");
    return outputs;
  }

  const std::string target_;
  std::string folder_;
  tensorflow::MetaGraphDef meta_graph_;
  tensorflow::Scope scope_ = tensorflow::Scope::NewRootScope();
  std::unique_ptr<tensorflow::Session> session_;
};

// The gradients that each of several concurrent threads computes.
absl::Status RunInThreads(const std::string& target, std::vector<std::vector<Tensor>>* results) {
  results->resize(ReadInt());
  const std::string graph_def = ReadBytes();
  const Names ys = ReadNames(), xs = ReadNames(), upstreams = ReadNames();
  const Feeds feeds = ReadFeeds();
  std::vector<absl::Status> statuses(results->size());
  const auto run = [&](std::vector<Tensor>* gradients) -> absl::Status {
    Graph graph(target);
    TF_RETURN_IF_ERROR(graph.Add(graph_def));
    std::vector<Output> outputs;
    TF_RETURN_IF_ERROR(graph.AddGradients(ys, xs, upstreams, &outputs));
    Names fetches;
    for (const Output& output : outputs) fetches.push_back(output.name());
    return graph.Run(feeds, fetches, gradients);
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results->size(); ++i) {
    threads.emplace_back([&, i] { statuses[i] = run(&(*results)[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) TF_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

// The state that is kept between requests.
struct Client {
  std::string target;  // of sessions; "" means this process
  std::unique_ptr<Graph> graph;
};

void Answer(const std::string& request, Client* client) {
  std::unique_ptr<Graph>& graph = client->graph;
  if (request == "library") {
    WriteStatus(LoadLibrary(ReadBytes()));
  } else if (request == "import") {
    graph = std::make_unique<Graph>(client->target);
    WriteStatus(graph->Add(ReadBytes()));
  } else if (request == "add") {
    WriteStatus(graph->Add(ReadBytes()));
  } else if (request == "saved_model") {
    graph = std::make_unique<Graph>();
    WriteStatus(graph->LoadSavedModel(ReadBytes()));
  } else if (request == "connect") {
    client->target = ReadBytes();
    WriteStatus(absl::OkStatus());
  } else if (request == "export") {
    std::string serialized;
    if (WriteStatus(graph->Export(&serialized))) WriteBytes(serialized);
  } else if (request == "gradients") {
    const Names ys = ReadNames(), xs = ReadNames();
    std::vector<Output> gradients;
    if (!WriteStatus(graph->AddGradients(ys, xs, ReadNames(), &gradients))) {
      return;
    }
    WriteInt(static_cast<int64_t>(gradients.size()));
    for (const Output& gradient : gradients) {
      WriteBytes(gradient.node() == nullptr ? "" : gradient.name());
    }
  } else if (request == "run") {
    const Feeds feeds = ReadFeeds();
    std::vector<Tensor> results;
    if (WriteStatus(graph->Run(feeds, ReadNames(), &results))) {
      WriteTensors(results);
    }
  } else if (request == "threads") {
    std::vector<std::vector<Tensor>> results;
    if (!WriteStatus(RunInThreads(client->target, &results))) return;
    WriteInt(static_cast<int64_t>(results.size()));
    for (const std::vector<Tensor>& tensors : results) WriteTensors(tensors);
  } else {
    Require(false, request);
  }
}

}  // namespace

int main() {
  Client client;
  while (std::cin.peek() != std::istream::traits_type::eof()) {
    Answer(ReadBytes(), &client);
    std::cout.flush();
  }
}
