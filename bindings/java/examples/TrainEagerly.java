import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.tensorflow.EagerSession;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.VarHandleOp;
import org.tensorflow.op.nn.SparseSoftmaxCrossEntropyWithLogits;
import org.tensorflow.types.TFloat64;
import org.tensorflow.types.TInt32;
import org.tensorflowext.GradientTape;
import org.tensorflowext.TensorFlowExt;

/**
 * Trains a network on handwritten digits in eager mode, and prints the loss of each step: {@code
 * zcat examples/digits.csv.gz | train_eagerly}. A line of the input is an image, 64 grey values up
 * to 16, and its digit.
 */
public final class TrainEagerly {
  private static final int IMAGES = 256;
  private static final int HIDDEN = 32;
  private static final int STEPS = 200;
  private static final double RATE = 0.5;

  public static void main(String[] arguments) {
    TensorFlowExt.load();
    int[][] lines =
        new BufferedReader(new InputStreamReader(System.in))
            .lines()
            .limit(IMAGES)
            .map(line -> Arrays.stream(line.split(",")).mapToInt(Integer::parseInt).toArray())
            .toArray(int[][]::new);
    try (EagerSession session = EagerSession.create()) {
      Ops tf = Ops.create(session);
      double[] greys =
          Arrays.stream(lines).flatMapToInt(l -> Arrays.stream(l, 0, 64)).asDoubleStream().toArray();
      Operand<TFloat64> images = tf.math.div(matrix(tf, greys, 64), tf.constant(16.));
      Operand<TInt32> digits =
          tf.constant(Arrays.stream(lines).mapToInt(line -> line[64]).toArray());
      List<VarHandleOp> weights = List.of(variable(tf, 64, HIDDEN), variable(tf, HIDDEN, 10));
      for (int step = 0; step < STEPS; ++step) {
        try (GradientTape tape = new GradientTape(session)) {
          Operand<TFloat64> hidden = tf.nn.relu(tf.linalg.matMul(images, read(tf, weights.get(0))));
          Operand<TFloat64> logits = tf.linalg.matMul(hidden, read(tf, weights.get(1)));
          Operand<TFloat64> losses =
              SparseSoftmaxCrossEntropyWithLogits.create(tf.scope(), logits, digits).loss();
          Operand<TFloat64> loss = tf.math.mean(losses, tf.constant(0));
          List<Output<?>> gradients = tape.gradient(loss, weights);
          for (int i = 0; i < weights.size(); ++i) {
            Output<TFloat64> gradient = gradients.get(i).expect(TFloat64.class);
            tf.train.resourceApplyGradientDescent(weights.get(i), tf.constant(RATE), gradient);
          }
          System.out.println(loss.asTensor().getDouble());
        }
      }
    }
  }

  private static Operand<TFloat64> matrix(Ops tf, double[] values, long columns) {
    return tf.constant(Shape.of(values.length / columns, columns), DataBuffers.of(values));
  }

  /** A variable that starts with sin(1) / 5, sin(2) / 5, ... */
  private static VarHandleOp variable(Ops tf, int rows, int columns) {
    double[] start =
        IntStream.rangeClosed(1, rows * columns).mapToDouble(i -> Math.sin(i) / 5).toArray();
    String name = rows + "x" + columns;
    VarHandleOp handle =
        tf.varHandleOp(
            TFloat64.class, Shape.of(rows, columns), VarHandleOp.sharedName(name));
    tf.assignVariableOp(handle, matrix(tf, start, columns));
    return handle;
  }

  private static Operand<TFloat64> read(Ops tf, VarHandleOp variable) {
    return tf.readVariableOp(variable, TFloat64.class);
  }
}
