package org.tensorflowext.clients;

import static org.tensorflow.internal.c_api.global.tensorflow.TF_DeleteTensor;
import static org.tensorflow.internal.c_api.global.tensorflow.TF_Dim;
import static org.tensorflow.internal.c_api.global.tensorflow.TF_NumDims;
import static org.tensorflow.internal.c_api.global.tensorflow.TF_SessionRun;
import static org.tensorflow.internal.c_api.global.tensorflow.TF_SetTarget;
import static org.tensorflow.internal.c_api.global.tensorflow.TF_TensorByteSize;
import static org.tensorflow.internal.c_api.global.tensorflow.TF_TensorData;
import static org.tensorflow.internal.c_api.global.tensorflow.TF_TensorType;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.PointerScope;
import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.Tensor;
import org.tensorflow.internal.c_api.TF_Graph;
import org.tensorflow.internal.c_api.TF_Operation;
import org.tensorflow.internal.c_api.TF_Output;
import org.tensorflow.internal.c_api.TF_Session;
import org.tensorflow.internal.c_api.TF_SessionOptions;
import org.tensorflow.internal.c_api.TF_Status;
import org.tensorflow.internal.c_api.TF_Tensor;
import org.tensorflow.proto.DataType;

/**
 * Sessions, with features that TensorFlow Java's lack: a target, and tensors of int8, int16,
 * uint32, uint64, complex64 and complex128, types that TensorFlow Java does not have. Its classes
 * for the C interface have them, but their handles are private.
 */
final class Sessions {
  private Sessions() {}

  /** A session with a target: "grpc://host:port", or "" for this process. */
  @SuppressWarnings("try") // A scope frees the objects made in it.
  static Session create(Graph graph, String target) {
    if (target.isEmpty()) {
      return new Session(graph);
    }
    try (PointerScope scope = new PointerScope()) {
      TF_Status status = TF_Status.newStatus();
      TF_SessionOptions options = TF_SessionOptions.newSessionOptions();
      TF_SetTarget(options, target);
      TF_Session session = TF_Session.newSession(handle(graph, TF_Graph.class), options, status);
      status.throwExceptionIfNotOK();
      session.retainReference(); // It outlives the scope: the Session closes it.
      Constructor<Session> constructor =
          Session.class.getDeclaredConstructor(Graph.class, TF_Session.class);
      constructor.setAccessible(true);
      return constructor.newInstance(graph, session);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("expected the Session of TensorFlow Java 1.1 or 1.2", e);
    }
  }

  /** Runs a session once. */
  static List<Value> run(Session session, Map<Output<?>, Value> feeds, List<Output<?>> fetches) {
    boolean hasTensors =
        feeds.values().stream().map(Value::type).allMatch(Value::hasTensors)
            && fetches.stream().map(Output::dataType).allMatch(Value::hasTensors);
    return hasTensors ? runTensors(session, feeds, fetches) : runBytes(session, feeds, fetches);
  }

  private static List<Value> runTensors(
      Session session, Map<Output<?>, Value> feeds, List<Output<?>> fetches) {
    // A result cannot hold a tensor twice.
    List<Output<?>> distinct = fetches.stream().distinct().collect(Collectors.toList());
    List<Tensor> fed = new ArrayList<>();
    Session.Runner runner = session.runner();
    try {
      feeds.forEach(
          (output, value) -> {
            fed.add(value.toTensor());
            runner.feed(output, fed.get(fed.size() - 1));
          });
      distinct.forEach(runner::fetch);
      try (Result result = runner.run()) {
        List<Value> values = new ArrayList<>();
        result.forEach(entry -> values.add(Value.of(entry.getValue())));
        return fetches.stream()
            .map(output -> values.get(distinct.indexOf(output)))
            .collect(Collectors.toList());
      }
    } finally {
      fed.forEach(Tensor::close);
    }
  }

  @SuppressWarnings("try")
  private static List<Value> runBytes(
      Session session, Map<Output<?>, Value> feeds, List<Output<?>> fetches) {
    if (feeds.values().stream().anyMatch(value -> value.type() == DataType.DT_STRING)) {
      throw new UnsupportedOperationException("strings beside types without tensors");
    }
    try (PointerScope scope = new PointerScope()) {
      PointerPointer<TF_Tensor> fed = new PointerPointer<>(Math.max(feeds.size(), 1));
      int index = 0;
      for (Value value : feeds.values()) {
        long size = value.bytes().length;
        TF_Tensor tensor =
            TF_Tensor.allocateTensor(value.type().getNumber(), value.shape(), size);
        new BytePointer(TF_TensorData(tensor)).put(value.bytes());
        fed.put(index++, tensor);
      }
      PointerPointer<TF_Tensor> fetched = new PointerPointer<>(Math.max(fetches.size(), 1));
      TF_Status status = TF_Status.newStatus();
      TF_SessionRun(
          handle(session, TF_Session.class),
          null,
          outputs(new ArrayList<>(feeds.keySet())),
          fed,
          feeds.size(),
          outputs(fetches),
          fetched,
          fetches.size(),
          (PointerPointer<TF_Operation>) null,
          0,
          null,
          status);
      status.throwExceptionIfNotOK();
      List<Value> values = new ArrayList<>();
      for (int i = 0; i < fetches.size(); ++i) {
        TF_Tensor tensor = fetched.get(TF_Tensor.class, i);
        values.add(read(tensor));
        TF_DeleteTensor(tensor);
      }
      return values;
    }
  }

  private static TF_Output outputs(List<Output<?>> outputs) {
    TF_Output array = new TF_Output(Math.max(outputs.size(), 1));
    for (int i = 0; i < outputs.size(); ++i) {
      GraphOperation operation = (GraphOperation) outputs.get(i).op();
      array.position(i).oper(operation.getUnsafeNativeHandle()).index(outputs.get(i).index());
    }
    return array.position(0);
  }

  private static Value read(TF_Tensor tensor) {
    long[] shape = new long[TF_NumDims(tensor)];
    for (int i = 0; i < shape.length; ++i) {
      shape[i] = TF_Dim(tensor, i);
    }
    byte[] bytes = new byte[(int) TF_TensorByteSize(tensor)];
    new BytePointer(TF_TensorData(tensor)).get(bytes);
    return new Value(DataType.forNumber(TF_TensorType(tensor)), shape, bytes, List.of());
  }

  /** The handle of this object in TensorFlow's C interface. */
  private static <T extends Pointer> T handle(Object object, Class<T> type) {
    try {
      Field field = object.getClass().getDeclaredField("nativeHandle");
      field.setAccessible(true);
      return type.cast(field.get(object));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("expected the classes of TensorFlow Java 1.1 or 1.2", e);
    }
  }
}
