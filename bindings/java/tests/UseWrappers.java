import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import org.tensorflow.EagerSession;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Operation;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat64;
import org.tensorflowext.op.Gradients;
import org.tensorflowext.op.TfExtLibrary;
import org.tensorflowext.train.Constant;
import org.tensorflowext.train.CosineDecay;
import org.tensorflowext.train.LossScaleOptimizer;
import org.tensorflowext.train.Optimizer;
import org.tensorflowext.train.SGD;
import org.tensorflowext.train.Saver;
import org.tensorflowext.train.Training;
import org.tensorflowext.train.Variables;

/**
 * Prints what the classes beside the typed ops give: NAME NUMBER... for gradients, with "none" for
 * one that is not there; NAME! MESSAGE for an error. tests/wrappers checks them.
 *
 * <pre>
 *   use_wrappers          loads the library that TENSORFLOW_EXT_LIBRARY names, and tests gradients
 *   use_wrappers load     only loads it
 *   use_wrappers load F   loads the file F
 * </pre>
 */
final class UseWrappers {
  private UseWrappers() {}

  public static void main(String[] arguments) {
    if (arguments.length == 2) {
      attempt("load", () -> TfExtLibrary.load(Path.of(arguments[1])));
    } else if (arguments.length == 1) {
      attempt("load", TfExtLibrary::load);
    } else {
      TfExtLibrary.load();
      TfExtLibrary.load();
      gradients();
      errors();
      training();
    }
  }

  private static void gradients() {
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      Operand<TFloat64> x = tf.constant(new double[] {1, 2, 3});
      Operand<TFloat64> w = tf.constant(new double[] {4, 5, 6});
      Operand<?> unread = tf.varHandleOp(TFloat64.class, Shape.of(3));
      Operand<TFloat64> square = tf.math.square(x);
      Operand<TFloat64> product = tf.math.mul(x, w);
      Map<String, List<Optional<Output<?>>>> found = new LinkedHashMap<>();
      found.put("several", Gradients.add(product, List.of(x, w, x)));
      found.put("unconnected", Gradients.add(square, List.of(w, x, unread)));
      found.put("all_unconnected", Gradients.add(square, List.of(w, unread)));
      found.put("y_itself", Gradients.add(square, List.of(square)));
      found.put("upstream", Gradients.add(List.of(square, product), List.of(x), List.of(w, x)));
      found.put("upstream_of_x", Gradients.add(List.of(square), List.of(x, w), List.of(x)));
      Output<?> first =
          Gradients.add(List.of(square), List.of(x), List.of(w)).get(0).orElseThrow();
      found.put("by_upstream", Gradients.add(first, List.of(w)));
      found.forEach((name, gradients) -> print(session, name, gradients));
    }
  }

  private static void print(Session session, String name, List<Optional<Output<?>>> gradients) {
    StringJoiner line = new StringJoiner(" ");
    line.add(name);
    for (Optional<Output<?>> gradient : gradients) {
      if (gradient.isEmpty()) {
        line.add("none");
        continue;
      }
      try (Result result = session.runner().fetch(gradient.get()).run()) {
        TFloat64 values = (TFloat64) result.get(0);
        values.scalars().forEach(value -> line.add(Double.toString(value.getDouble())));
      }
    }
    System.out.println(line);
  }

  /** Minimizes x * x + x from x = 3 with a scaled loss, and prints x. */
  private static void training() {
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      Variables.Builder builder = new Variables.Builder(graph);
      builder.add("x", TFloat64.class, Shape.scalar(), new Constant().value(3));
      Variables variables = builder.build();
      attempt("same_name", builder::build);
      List<Output<?>> handles = variables.handles();
      Operand<TFloat64> x = tf.readVariableOp(handles.get(0), TFloat64.class);
      Operand<TFloat64> loss = tf.math.add(tf.math.square(x), x);
      SGD sgd = new SGD().learningRate(new CosineDecay(Double.NaN, 1));
      attempt("not_finite", () -> Training.minimize(graph, loss, handles, sgd));
      Optimizer scaling = new LossScaleOptimizer(new SGD().learningRate(0.25));
      Training training = Training.minimize(graph, loss, handles, scaling);
      Map<String, Output<?>> state = training.saved("optimizer");
      Saver saver = Saver.add(graph, variables.saved(), state);
      List<Operation> targets =
          List.of(
              variables.initialize(), training.initialize(), training.step(), training.step());
      targets.forEach(target -> session.runner().addTarget(target).run().close());
      print(session, "loss_scale", List.of(Optional.of(x.asOutput())));
      System.out.println("saved x " + String.join(" ", state.keySet()));
      attempt("no_file", () -> saver.restore(session, "/nowhere/model"));
      attempt("twice", () -> Saver.add(graph, variables.saved(), variables.saved()));
      attempt("no_variable", () -> Training.minimize(graph, loss, List.of(), new SGD()));
      try (Graph other = new Graph()) {
        attempt("other_graph", () -> Saver.add(other, variables.saved()));
        Operand<TFloat64> y = Ops.create(other).constant(1.0);
        attempt("other_y", () -> Gradients.add(List.of(x, y), handles, List.of()));
      }
    }
  }

  private static void errors() {
    try (EagerSession session = EagerSession.create()) {
      Operand<TFloat64> x = Ops.create(session).constant(1.0);
      attempt("eager", () -> Gradients.add(x, List.of(x)));
      attempt("no_y", () -> Gradients.add(List.of(), List.of(x), List.of()));
      attempt("upstream_number", () -> Gradients.add(List.of(x), List.of(x), List.of(x, x)));
    }
  }

  private static void attempt(String name, Runnable call) {
    try {
      call.run();
    } catch (RuntimeException | UnsatisfiedLinkError e) {
      System.out.println(name + "! " + e.getMessage());
      return;
    }
    System.out.println(name);
  }
}
