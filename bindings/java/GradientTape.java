package org.tensorflowext;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.tensorflow.EagerSession;
import org.tensorflow.ExecutionEnvironment;
import org.tensorflow.Operand;
import org.tensorflow.Operation;
import org.tensorflow.OperationBuilder;
import org.tensorflow.Output;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.DataType;
import org.tensorflow.types.TInt64;
import org.tensorflow.types.TString;
import org.tensorflow.types.family.TType;

/**
 * Records the ops that an eager session runs on watched tensors and variables, and differentiates
 * them.
 *
 * <pre>{@code
 * try (EagerSession session = EagerSession.create();
 *     GradientTape tape = new GradientTape(session)) {
 *   Ops tf = Ops.create(session);
 *   Operand<TFloat32> x = tf.constant(3f);
 *   tape.watch(x);
 *   Operand<TFloat32> y = tf.math.square(x);
 *   Output<TFloat32> dx = tape.gradient(y, x); // 6
 * }
 * }</pre>
 *
 * <p>An op is recorded if a tape watches one of its inputs; then the tape also watches its outputs.
 * A tape also watches each variable that its thread reads. Wherever a method takes an x, it takes
 * the handle of a variable, too ({@code tf.varHandleOp}), and the gradient is that of its value.
 * Several tapes may record at once. A gradient runs ops, too, so a second tape that watches x while
 * the first one's gradient is computed gives the second order.
 *
 * <p>Close the tape before its session: until then it keeps what gradients need. A session and
 * its tapes are for one thread.
 *
 * <p>Errors of all methods: {@link IllegalStateException}, the tape is closed; {@link
 * org.tensorflow.exceptions.TFFailedPreconditionException}, the tape is used up, or does not watch
 * an x that is no variable; {@link org.tensorflow.exceptions.TensorFlowException}, an op has no
 * gradient, and those of the ops that gradients run.
 */
public final class GradientTape implements AutoCloseable {
  /** An option of a tape. */
  public enum Option {
    /**
     * The tape gives more than one gradient. Without it, a tape is used up by its first gradient,
     * which frees tensors while it is computed.
     */
    PERSISTENT,
    /** The tape watches only what {@link #watch} says, and no variable that is read. */
    WATCH_NO_VARIABLES,
  }

  /**
   * A gradient by the rows that were gathered: row k of {@code values} is added to row indices[k] of
   * zeros with the shape {@code shape}.
   */
  public static final class Slices {
    private final Output<?> values;
    private final Output<TInt64> indices;
    private final Output<TInt64> shape;
    private final String reason;

    private Slices(
        Output<?> values, Output<TInt64> indices, Output<TInt64> shape, String reason) {
      this.values = values;
      this.indices = indices;
      this.shape = shape;
      this.reason = reason;
    }

    /** True if {@link #values} is the whole gradient; then there are no indices and no shape. */
    public boolean isDense() {
      return !reason.isEmpty();
    }

    /** The rows, or the whole gradient. */
    public Output<?> values() {
      return values;
    }

    /** The place of each row. */
    public Output<TInt64> indices() {
      return indices;
    }

    /** The shape of the gradient. */
    public Output<TInt64> shape() {
      return shape;
    }

    /** The reason why the gradient is dense, or an empty text. */
    public String reason() {
      return reason;
    }
  }

  private final ExecutionEnvironment session;
  private Output<TInt64> tape;

  /**
   * Makes a tape that records from now on.
   *
   * @param session where the ops run
   */
  public GradientTape(EagerSession session, Option... options) {
    this((ExecutionEnvironment) session, options);
  }

  /**
   * Makes a tape that records from now on.
   *
   * @param tf the ops of an eager session
   * @throws IllegalArgumentException if they are those of a graph
   */
  public GradientTape(Ops tf, Option... options) {
    this(tf.scope().env(), options);
  }

  private GradientTape(ExecutionEnvironment session, Option... options) {
    if (!session.isEager()) {
      throw new IllegalArgumentException(
          "GradientTape: expected an eager session, got a graph; Graph.addGradients adds the"
              + " gradients of a graph");
    }
    TensorFlowExt.load();
    this.session = session;
    List<Option> given = Arrays.asList(options);
    tape =
        op("TfExt>NewTape")
            .setAttr("persistent", given.contains(Option.PERSISTENT))
            .setAttr("watch_variables", !given.contains(Option.WATCH_NO_VARIABLES))
            .build()
            .output(0);
    // The tape of an asynchronous session must exist before the next op runs.
    tape.asTensor();
    resume();
  }

  /**
   * Watches tensors of half, bfloat16, float, double or a complex type, or handles of variables. Ops
   * that ran before are not recorded.
   */
  public void watch(Operand<?>... x) {
    for (Operand<?> tensor : x) {
      tapeOp("TfExt>TapeWatch").addInput(tensor.asOutput()).build();
    }
  }

  /**
   * The gradient of the sum of {@code y} by {@code x}.
   *
   * @return a tensor of the type and shape of x, or of the variable; zeros if y does not depend on x
   */
  public <T extends TType> Output<T> gradient(Operand<?> y, Operand<T> x) {
    @SuppressWarnings("unchecked") // The gradient has the type of x.
    Output<T> dx = (Output<T>) gradient(y, List.of(x)).get(0);
    return dx;
  }

  /** The gradient by a variable, with the type of its value. */
  public <T extends TType> Output<T> gradient(Operand<?> y, Operand<?> variable, Class<T> type) {
    return gradient(y, List.of(variable)).get(0).expect(type);
  }

  /** The gradients of the sum of {@code y} by each x. */
  public List<Output<?>> gradient(Operand<?> y, List<? extends Operand<?>> x) {
    return gradient(List.of(y), x, List.of());
  }

  /**
   * The gradients of the sum of all tensors {@code y} by each x.
   *
   * @param dy an upstream gradient for each y, of its type and shape; none for ones
   */
  public List<Output<?>> gradient(
      List<? extends Operand<?>> y,
      List<? extends Operand<?>> x,
      List<? extends Operand<?>> dy) {
    return outputs(
        tapeOp("TfExt>TapeGradient")
            .addInputList(toArrayOfSome(y))
            .addInputList(toArray(x))
            .addInputList(toArray(dy))
            .setAttr("Tdx", typesOf(x)));
  }

  /** The gradients by the rows that were gathered where all others are zero; of ones. */
  public List<Slices> gradientSlices(Operand<?> y, List<? extends Operand<?>> x) {
    return gradientSlices(List.of(y), x, List.of(), false);
  }

  /**
   * The gradients of the sum of all tensors {@code y} by each x, by the rows that were gathered where
   * all others are zero. If another op uses x too, its gradient is dense as a whole.
   *
   * @param dy an upstream gradient for each y, of its type and shape; none for ones
   * @param sumRepeated true to add up the rows of equal indices
   */
  public List<Slices> gradientSlices(
      List<? extends Operand<?>> y,
      List<? extends Operand<?>> x,
      List<? extends Operand<?>> dy,
      boolean sumRepeated) {
    int n = x.size();
    List<Output<?>> outputs =
        outputs(
            tapeOp("TfExt>TapeGradientSlices")
                .addInputList(toArrayOfSome(y))
                .addInputList(toArray(x))
                .addInputList(toArray(dy))
                .setAttr("Tdx", typesOf(x))
                .setAttr("N", n)
                .setAttr("sum_repeated", sumRepeated));
    TString reasons = (TString) outputs.get(3 * n).asTensor();
    List<Slices> slices = new ArrayList<>();
    for (int k = 0; k < n; ++k) {
      slices.add(
          new Slices(
              outputs.get(k),
              outputs.get(n + k).expect(TInt64.class),
              outputs.get(2 * n + k).expect(TInt64.class),
              reasons.getObject(k)));
    }
    return Collections.unmodifiableList(slices);
  }

  /**
   * The Jacobian of {@code y} by {@code x}: a gradient for each element of y, in a loop. The tape
   * must be persistent, and y must depend on x.
   *
   * @return a tensor of shape [shape of y, shape of x]
   */
  public <T extends TType> Output<T> jacobian(Operand<?> y, Operand<T> x) {
    @SuppressWarnings("unchecked") // The Jacobian has the type of x.
    Output<T> jacobian = (Output<T>) jacobian(y, List.of(x)).get(0);
    return jacobian;
  }

  /** The Jacobians of {@code y} by each x. */
  public List<Output<?>> jacobian(Operand<?> y, List<? extends Operand<?>> x) {
    return outputs(
        tapeOp("TfExt>TapeJacobian")
            .addInput(y.asOutput())
            .addInputList(toArray(x))
            .setAttr("Tdx", typesOf(x)));
  }

  /**
   * Forward mode: the derivative of {@code y} in the direction {@code tangent} of x. Each op on the
   * way needs a gradient of second order.
   *
   * @return a tensor of the type and shape of y; zeros if it does not depend on x
   */
  public <T extends TType> Output<T> jvp(Operand<T> y, Operand<?> x, Operand<?> tangent) {
    @SuppressWarnings("unchecked") // The derivative has the type of y.
    Output<T> derivative = (Output<T>) jvp(List.of(y), List.of(x), List.of(tangent)).get(0);
    return derivative;
  }

  /** The derivatives of each y in the direction {@code tangents}, one for each x. */
  public List<Output<?>> jvp(
      List<? extends Operand<?>> y,
      List<? extends Operand<?>> x,
      List<? extends Operand<?>> tangents) {
    return outputs(
        tapeOp("TfExt>TapeJvp")
            .addInputList(toArrayOfSome(y))
            .addInputList(toArray(x))
            .addInputList(toArray(tangents)));
  }

  /** Stops recording; what is recorded stays. */
  public void stop() {
    control("stop");
  }

  /** Records again after {@link #stop}. */
  public void resume() {
    control("resume");
  }

  /**
   * Forgets everything that is recorded and watched, and records anew; also a tape that is used up.
   */
  public void reset() {
    control("reset");
  }

  /** Stops recording and frees what the tape keeps. */
  @Override
  public void close() {
    if (tape != null) {
      control("delete");
      tape = null;
    }
  }

  private void control(String action) {
    tapeOp("TfExt>TapeControl").setAttr("action", action).build();
  }

  private OperationBuilder op(String type) {
    return session.opBuilder(type, type.substring("TfExt>".length()), session.baseScope());
  }

  private OperationBuilder tapeOp(String type) {
    if (tape == null) {
      throw new IllegalStateException("The gradient tape is closed.");
    }
    return op(type).addInput(tape);
  }

  private static Output<?>[] toArray(List<? extends Operand<?>> tensors) {
    return tensors.stream().map(Operand::asOutput).toArray(Output<?>[]::new);
  }

  /** TensorFlow ends the process at an empty first list. */
  private static Output<?>[] toArrayOfSome(List<? extends Operand<?>> y) {
    if (y.isEmpty()) {
      throw new IllegalArgumentException("GradientTape: y: expected at least one tensor, got none");
    }
    return toArray(y);
  }

  /** The types as attributes; the session gives each result its own type, also for a variable. */
  private static DataType[] typesOf(List<? extends Operand<?>> tensors) {
    return tensors.stream().map(tensor -> tensor.asOutput().dataType()).toArray(DataType[]::new);
  }

  private static List<Output<?>> outputs(OperationBuilder op) {
    Operation operation = op.build();
    return Collections.unmodifiableList(
        Arrays.asList(operation.outputList(0, operation.numOutputs())));
  }
}
