package org.tensorflowext.clients;

import com.google.protobuf.InvalidProtocolBufferException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.tensorflow.EagerSession;
import org.tensorflow.Graph;
import org.tensorflow.Output;
import org.tensorflow.SavedModelBundle;
import org.tensorflow.Session;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.GraphDef;
import org.tensorflow.types.TString;
import org.tensorflowext.op.TfExtOps;

/** A graph and its session. Tensors are named "node:index". */
final class Model implements AutoCloseable {
  private final Graph graph;
  private final AutoCloseable owner;
  private Session session; // Sees nodes that are added later.

  Model() {
    graph = new Graph();
    owner = graph;
  }

  private Model(SavedModelBundle bundle) {
    graph = bundle.graph();
    session = bundle.session();
    owner = bundle;
  }

  /** The SavedModel in a folder, with its variables restored and its own gradients. */
  static Model load(String folder) throws InvalidProtocolBufferException {
    Model model = new Model(SavedModelBundle.load(folder, "serve"));
    try (EagerSession eager = EagerSession.create()) {
      Ops tf = Ops.create(eager);
      TString gradients =
          TfExtOps.create(tf).savedModelGradients(tf.constant(folder)).graphDef().asTensor();
      model.add(gradients.asBytes().getObject());
    }
    return model;
  }

  /** Adds the nodes of a serialized GraphDef. */
  void add(byte[] graphDef) throws InvalidProtocolBufferException {
    graph.importGraphDef(GraphDef.parseFrom(graphDef));
  }

  /** Starts the session. */
  void open(String target) {
    session = Sessions.create(graph, target);
  }

  byte[] export() {
    return graph.toGraphDef().toByteArray();
  }

  /** Adds the gradient of the ys by each x; a closed output if there is none. */
  Output<?>[] addGradients(List<String> ys, List<String> xs, List<String> upstreams) {
    return graph.addGradients(null, find(ys), find(xs), find(upstreams));
  }

  List<Value> run(Map<String, Value> feeds, List<String> fetches) {
    return runOutputs(feeds, List.of(find(fetches)));
  }

  List<Value> runOutputs(Map<String, Value> feeds, List<Output<?>> fetches) {
    Map<Output<?>, Value> fed = new LinkedHashMap<>();
    feeds.forEach((name, value) -> fed.put(find(name), value));
    return Sessions.run(session, fed, fetches);
  }

  private Output<?> find(String name) {
    Output<?> output = graph.output(name);
    if (output == null) {
      throw new NoSuchElementException(name);
    }
    return output;
  }

  private Output<?>[] find(List<String> names) {
    return names.stream().map(this::find).toArray(Output<?>[]::new);
  }

  @Override
  public void close() {
    try {
      if (session != null) {
        session.close();
      }
      owner.close();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
