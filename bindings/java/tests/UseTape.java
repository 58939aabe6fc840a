import java.util.List;
import java.util.StringJoiner;
import org.tensorflow.EagerSession;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.VarHandleOp;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TFloat64;
import org.tensorflow.types.TInt64;
import org.tensorflowext.GradientTape;
import org.tensorflowext.op.TfExtOps;

/**
 * Prints what tapes give: NAME NUMBER... for a tensor, NAME! MESSAGE for an error. tests/tape checks
 * them.
 */
final class UseTape {
  private final EagerSession session;
  private final Ops tf;
  private final Operand<TFloat64> x;
  private final Operand<TFloat64> w;

  private UseTape(EagerSession session) {
    this.session = session;
    tf = Ops.create(session);
    x = tf.constant(new double[] {1, 2, 3});
    w = tf.constant(new double[] {4, 5, 6});
  }

  public static void main(String[] arguments) {
    try (EagerSession session = EagerSession.create()) {
      UseTape use = new UseTape(session);
      use.gradients();
      use.higherOrders();
      use.variables();
      use.slices();
      use.recordsOnlyWhenAsked();
      use.errors();
    }
    try (EagerSession session = EagerSession.options().async(true).build()) {
      new UseTape(session).asynchronous();
    }
  }

  private void gradients() {
    try (GradientTape tape = new GradientTape(tf)) {
      tape.watch(x, w);
      print("list", tape.gradient(tf.math.mul(x, w), List.of(w, x)));
    }
    try (GradientTape tape = new GradientTape(session)) {
      tape.watch(x, w);
      print("unconnected", tape.gradient(tf.math.square(x), w));
    }
    try (GradientTape tape = new GradientTape(session)) {
      tape.watch(x);
      List<Operand<TFloat64>> y = List.of(tf.math.square(x), tf.math.mul(x, w));
      print("upstream", tape.gradient(y, List.of(x), List.of(w, x)));
    }
    try (GradientTape tape = new GradientTape(session)) {
      tape.watch(x, w);
      List<Operand<TFloat64>> y = List.of(tf.math.add(x, w));
      print("same", tape.gradient(y, List.of(x, w), List.of(x)));
    }
    try (GradientTape tape = new GradientTape(session, GradientTape.Option.PERSISTENT)) {
      tape.watch(x);
      Operand<TFloat64> y = tf.math.square(x);
      print("persistent_1", tape.gradient(y, x));
      print("persistent_2", tape.gradient(tf.math.mul(y, x), x));
    }
    try (GradientTape tape = new GradientTape(session)) {
      tape.watch(x);
      print("mish", tape.gradient(TfExtOps.create(tf).mish(x), x));
    }
  }

  private void higherOrders() {
    try (GradientTape outer = new GradientTape(session)) {
      outer.watch(x);
      try (GradientTape inner = new GradientTape(session)) {
        inner.watch(x);
        Operand<TFloat64> y = tf.math.mul(tf.math.square(x), x);
        print("second_order", outer.gradient(inner.gradient(y, x), x));
      }
    }
    try (GradientTape tape = new GradientTape(session, GradientTape.Option.PERSISTENT)) {
      tape.watch(x, w);
      Operand<TFloat64> y = tf.math.mul(tf.math.square(x), w);
      print("jacobian", tape.jacobian(y, x));
      print("jacobians", tape.jacobian(y, List.of(x, w)));
    }
    try (GradientTape tape = new GradientTape(session)) {
      tape.watch(x);
      print("jvp", tape.jvp(tf.math.square(x), x, w));
    }
    try (GradientTape tape = new GradientTape(session)) {
      tape.watch(x, w);
      List<Operand<TFloat64>> both = List.of(x, w);
      print("jvps", tape.jvp(List.of(tf.math.mul(x, w), tf.math.square(w)), both, both));
    }
  }

  private VarHandleOp variable(String name) {
    VarHandleOp handle =
        tf.varHandleOp(TFloat64.class, Shape.of(3), VarHandleOp.sharedName(name));
    tf.assignVariableOp(handle, w);
    return handle;
  }

  private void variables() {
    VarHandleOp variable = variable("read");
    VarHandleOp unread = variable("unread");
    try (GradientTape tape = new GradientTape(session, GradientTape.Option.PERSISTENT)) {
      Operand<TFloat64> value = tf.readVariableOp(variable, TFloat64.class);
      Operand<TFloat64> y = tf.math.mul(tf.math.square(value), x);
      print("variable", tape.gradient(y, variable, TFloat64.class));
      print("variables", tape.gradient(y, List.of(variable, unread)));
    }
    try (GradientTape tape =
        new GradientTape(session, GradientTape.Option.WATCH_NO_VARIABLES)) {
      Operand<TFloat64> value = tf.readVariableOp(variable, TFloat64.class);
      print("no_variables", tape.gradient(tf.math.square(value), variable));
    }
  }

  private void slices() {
    VarHandleOp variable = variable("gathered");
    try (GradientTape tape = new GradientTape(session, GradientTape.Option.PERSISTENT)) {
      tape.watch(x);
      Operand<TFloat64> rows =
          tf.resourceGather(variable, tf.constant(new int[] {2, 0, 2}), TFloat64.class);
      Operand<TFloat64> y = tf.math.mul(rows, x);
      List<GradientTape.Slices> gradients = tape.gradientSlices(y, List.of(variable, x));
      GradientTape.Slices byRows = gradients.get(0);
      print(
          "slices",
          List.of(byRows.values(), asDoubles(byRows.indices()), asDoubles(byRows.shape())));
      print("not_slices", gradients.get(1).values());
      int[] lengths = {byRows.reason().length(), gradients.get(1).reason().length()};
      System.out.println("reasons " + lengths[0] + " " + lengths[1]);
      GradientTape.Slices summed =
          tape.gradientSlices(List.of(y), List.of(variable), List.of(w), true).get(0);
      print("summed_slices", List.of(summed.values(), asDoubles(summed.indices())));
    }
  }

  private Operand<TFloat64> asDoubles(Operand<TInt64> tensor) {
    return tf.dtypes.cast(tensor, TFloat64.class);
  }

  private void recordsOnlyWhenAsked() {
    try (GradientTape tape = new GradientTape(session)) {
      tape.watch(x);
      Operand<TFloat64> y = tf.math.square(x);
      tape.stop();
      Operand<TFloat64> factor = tf.math.square(x);
      tape.resume();
      print("stopped", tape.gradient(tf.math.mul(y, factor), x));
      tape.reset();
      tape.watch(x);
      print("reset", tape.gradient(tf.math.neg(x), x));
    }
  }

  private void errors() {
    try (GradientTape tape = new GradientTape(session)) {
      tape.watch(x);
      Operand<TFloat64> y = tf.math.square(x);
      error("unwatched", () -> tape.gradient(y, w));
      error("not_persistent", () -> tape.jacobian(y, x));
      error("shape", () -> tape.gradient(List.of(y), List.of(x), List.of(tf.constant(1.))));
      error("integers", () -> tape.watch(tf.constant(1)));
      error("no_gradient", () -> tape.gradient(withoutGradient(), x));
      error("used_up", () -> tape.gradient(y, x));
      error("no_y", () -> tape.gradient(List.of(), List.of(x), List.of()));
    }
    GradientTape closed = new GradientTape(session);
    closed.close();
    error("closed", () -> closed.watch(x));
    try (GradientTape tape = new GradientTape(session, GradientTape.Option.PERSISTENT)) {
      tape.watch(x, w);
      error("unconnected_jacobian", () -> tape.jacobian(tf.math.square(x), w));
      error("tangents", () -> tape.jvp(List.of(x), List.of(x), List.of()));
    }
    try (Graph graph = new Graph()) {
      error("graph", () -> new GradientTape(Ops.create(graph)).close());
    }
  }

  private Operand<TFloat32> withoutGradient() {
    Operand<TFloat32> points =
        tf.reshape(tf.dtypes.cast(x, TFloat32.class), tf.constant(new int[] {3, 1}));
    Operand<TInt64> one = tf.constant(1L);
    return tf.cluster.kmeansPlusPlusInitialization(points, one, one, one);
  }

  private void asynchronous() {
    VarHandleOp variable = variable("asynchronous");
    try (GradientTape tape = new GradientTape(session)) {
      Operand<TFloat64> value = tf.readVariableOp(variable, TFloat64.class);
      print("asynchronous", tape.gradient(tf.math.square(value), variable));
    }
  }

  private static void print(String name, Operand<?> tensor) {
    print(name, List.of(tensor));
  }

  private static void print(String name, List<? extends Operand<?>> tensors) {
    StringJoiner line = new StringJoiner(" ");
    line.add(name);
    for (Operand<?> tensor : tensors) {
      TFloat64 values = (TFloat64) tensor.asTensor();
      values.scalars().forEach(value -> line.add(Double.toString(value.getDouble())));
    }
    System.out.println(line);
  }

  private static void error(String name, Runnable call) {
    try {
      call.run();
    } catch (RuntimeException e) {
      System.out.println(name + "! " + e.getMessage());
      return;
    }
    throw new AssertionError(name + ": expected an error");
  }
}
