// SPDX-License-Identifier: Apache-2.0
//
// A client in C++: answers the requests of the judge with Scope and
// AddSymbolicGradients. (The wheel has no ClientSession: NewSession and
// GraphDef do the same.) ../README.md describes the protocol.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/public/session.h"

namespace {

using tensorflow::Output;
using tensorflow::Tensor;

// What requests and answers consist of.

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

std::vector<std::string> ReadNames() {
  std::vector<std::string> names(ReadInt());
  for (std::string& name : names) name = ReadBytes();
  return names;
}

Tensor ReadTensor() {
  auto dtype = static_cast<tensorflow::DataType>(ReadInt());
  tensorflow::TensorShape shape;
  for (int64_t rank = ReadInt(); rank > 0; --rank) shape.AddDim(ReadInt());
  Tensor tensor(dtype, shape);
  std::string bytes = ReadBytes();
  Require(bytes.size() == tensor.TotalBytes(), "a tensor of another size");
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
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
  WriteBytes(tensor.tensor_data());
}

// Every answer begins with the status. Returns whether more is to follow.
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
  return result;
}

// One graph, and its session from the first run on.
class Graph {
 public:
  absl::Status Import(const std::string& serialized) {
    tensorflow::GraphDef graph_def;
    Require(graph_def.ParseFromString(serialized), "not a GraphDef");
    TF_RETURN_IF_ERROR(ImportGraphDef({}, graph_def, scope_.graph(), nullptr));
    // Of what others put into its graph, the scope has to infer the shapes
    // before gradients can follow; the nodes are sorted.
    for (tensorflow::Node* node : scope_.graph()->op_nodes()) {
      TF_RETURN_IF_ERROR(scope_.DoShapeInference(node));
    }
    return absl::OkStatus();
  }

  absl::Status Export(std::string* serialized) const {
    tensorflow::GraphDef graph_def;
    TF_RETURN_IF_ERROR(scope_.ToGraphDef(&graph_def));
    Require(graph_def.SerializeToString(serialized), "too large a graph");
    return absl::OkStatus();
  }

  absl::Status AddGradients(const std::vector<std::string>& ys,
                            const std::vector<std::string>& xs,
                            const std::vector<std::string>& upstreams,
                            std::vector<Output>* gradients) {
    session_.reset();  // It would not see the new nodes.
    return AddSymbolicGradients(scope_, Find(ys), Find(xs), Find(upstreams),
                                gradients);
  }

  absl::Status Run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                   const std::vector<std::string>& fetches,
                   std::vector<Tensor>* results) {
    if (session_ == nullptr) {
      tensorflow::GraphDef graph_def;
      TF_RETURN_IF_ERROR(scope_.ToGraphDef(&graph_def));
      session_.reset(tensorflow::NewSession(tensorflow::SessionOptions()));
      TF_RETURN_IF_ERROR(session_->Create(graph_def));
    }
    return session_->Run(feeds, fetches, {}, results);
  }

 private:
  // The tensors with these names, "node:index".
  std::vector<Output> Find(const std::vector<std::string>& names) const {
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

  tensorflow::Scope scope_ = tensorflow::Scope::NewRootScope();
  std::unique_ptr<tensorflow::Session> session_;
};

void Answer(const std::string& request, std::unique_ptr<Graph>* graph) {
  if (request == "library") {
    WriteStatus(LoadLibrary(ReadBytes()));
  } else if (request == "import") {
    *graph = std::make_unique<Graph>();
    WriteStatus((*graph)->Import(ReadBytes()));
  } else if (request == "export") {
    std::string serialized;
    if (WriteStatus((*graph)->Export(&serialized))) WriteBytes(serialized);
  } else if (request == "gradients") {
    std::vector<std::string> ys = ReadNames(), xs = ReadNames();
    std::vector<Output> gradients;
    if (!WriteStatus((*graph)->AddGradients(ys, xs, ReadNames(), &gradients))) {
      return;
    }
    WriteInt(static_cast<int64_t>(gradients.size()));
    for (const Output& gradient : gradients) {
      WriteBytes(gradient.node() == nullptr ? "" : gradient.name());
    }
  } else if (request == "run") {
    std::vector<std::pair<std::string, Tensor>> feeds(ReadInt());
    for (auto& [name, tensor] : feeds) {
      name = ReadBytes();
      tensor = ReadTensor();
    }
    std::vector<Tensor> results;
    if (!WriteStatus((*graph)->Run(feeds, ReadNames(), &results))) return;
    WriteInt(static_cast<int64_t>(results.size()));
    for (const Tensor& result : results) WriteTensor(result);
  } else {
    Require(false, request);
  }
}

}  // namespace

int main() {
  std::unique_ptr<Graph> graph;
  while (std::cin.peek() != std::istream::traits_type::eof()) {
    Answer(ReadBytes(), &graph);
    std::cout.flush();
  }
}
