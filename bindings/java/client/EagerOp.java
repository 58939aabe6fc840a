package org.tensorflowext.clients;

import com.google.protobuf.InvalidProtocolBufferException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.tensorflow.EagerSession;
import org.tensorflow.Operation;
import org.tensorflow.OperationBuilder;
import org.tensorflow.Output;
import org.tensorflow.Tensor;
import org.tensorflow.op.core.Constant;
import org.tensorflow.proto.AttrValue;
import org.tensorflow.types.family.TType;
import org.tensorflowext.GradientTape;

/**
 * An op that runs in eager mode.
 *
 * @param type the op
 * @param attributes a serialized AttrValue for each of its attributes
 * @param inputs its inputs
 * @param xs the indices of the inputs that have gradients
 * @param upstreams upstream gradients by the index of the output
 * @param weights upstream gradients of the gradients, by the index among `xs`
 */
record EagerOp(
    String type,
    Map<String, byte[]> attributes,
    List<Value> inputs,
    List<Integer> xs,
    Map<Integer, Value> upstreams,
    Map<Integer, Value> weights) {

  /** Its outputs, their gradients by the xs, and the gradients of these. */
  List<List<Value>> run() throws InvalidProtocolBufferException {
    try (EagerSession session = EagerSession.create();
        GradientTape outer = new GradientTape(session);
        GradientTape inner = new GradientTape(session)) {
      List<Output<?>> tensors = constants(session, inputs);
      List<Output<?>> dys = constants(session, upstreams.values());
      List<Output<?>> watched = pick(tensors, xs);
      List<Output<?>> all = new ArrayList<>(watched);
      all.addAll(dys);
      inner.watch(watched.toArray(Output<?>[]::new));
      outer.watch(all.toArray(Output<?>[]::new));
      OperationBuilder builder = session.opBuilder(type, "op", session.baseScope());
      tensors.forEach(builder::addInput);
      for (Map.Entry<String, byte[]> attribute : attributes.entrySet()) {
        builder.setAttr(attribute.getKey(), AttrValue.parseFrom(attribute.getValue()));
      }
      Operation op = builder.build();
      List<Output<?>> outputs = List.of(op.outputList(0, op.numOutputs()));
      List<Output<?>> first = List.of();
      if (!upstreams.isEmpty()) {
        first = inner.gradient(pick(outputs, upstreams.keySet()), watched, dys);
      }
      List<Output<?>> second = List.of();
      if (!weights.isEmpty()) {
        List<Output<?>> given = constants(session, weights.values());
        second = outer.gradient(pick(first, weights.keySet()), all, given);
      }
      return List.of(values(outputs), values(first), values(second));
    }
  }

  private static List<Output<?>> constants(EagerSession session, Collection<Value> values) {
    List<Output<?>> constants = new ArrayList<>();
    for (Value value : values) {
      try (Tensor tensor = value.toTensor()) {
        constants.add(Constant.create(session.baseScope(), (TType) tensor).asOutput());
      }
    }
    return constants;
  }

  private static List<Output<?>> pick(List<Output<?>> tensors, Collection<Integer> indices) {
    return indices.stream().map(tensors::get).collect(Collectors.toList());
  }

  private static List<Value> values(List<Output<?>> tensors) {
    return tensors.stream().map(tensor -> Value.of(tensor.asTensor())).collect(Collectors.toList());
  }
}
