import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.TensorFlow;
import org.tensorflow.op.Ops;
import org.tensorflow.op.RawCustomGradient;
import org.tensorflow.types.TFloat32;
import org.tensorflowext.TensorFlowExt;
import org.tensorflowext.op.TfExtOps;

/**
 * Uses the jar as a program does that knows nothing else of this library. Prints d mish(x) / dx at
 * 0, which is 0.6, or the value of Java's own gradient in its place, 42.
 */
final class UseJar {
  private UseJar() {}

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "load" -> {
        TensorFlowExt.load();
        TensorFlowExt.load();
      }
      case "threads" -> {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        Callable<Object> load = Executors.callable(TensorFlowExt::load);
        for (Future<Object> loaded : threads.invokeAll(Collections.nCopies(8, load))) {
          loaded.get();
        }
        threads.shutdown();
      }
      case "java-first" -> {
        register("TfExt>Mish", true);
        TensorFlowExt.load();
      }
      case "java-second" -> {
        TensorFlowExt.load();
        // TensorFlow Java keeps a gradient that is already registered.
        register("TfExt>Mish", false);
        register("QuantizedAdd", true);
      }
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    System.out.println(gradient());
  }

  private static void register(String op, boolean expected) {
    RawCustomGradient gradient =
        (tf, operation, upstreams) ->
            List.of(tf.fill(tf.shape(upstreams.get(0)), tf.constant(42f)));
    if (TensorFlow.registerCustomGradient(op, gradient) != expected) {
      throw new IllegalStateException(op + ": expected a registration to give " + expected);
    }
  }

  private static float gradient() {
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      Operand<TFloat32> x = tf.constant(0f);
      Output<?>[] gradients =
          graph.addGradients(
              TfExtOps.create(tf).mish(x).asOutput(), new Output<?>[] {x.asOutput()});
      try (Result result = session.runner().fetch(gradients[0]).run()) {
        return ((TFloat32) result.get(0)).getFloat();
      }
    }
  }
}
