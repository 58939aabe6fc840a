import java.util.List;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.ReduceSum;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt64;
import org.tensorflowext.op.Gradients;
import org.tensorflowext.op.TfExtLibrary;
import org.tensorflowext.train.GlorotUniform;
import org.tensorflowext.train.SGD;
import org.tensorflowext.train.Training;
import org.tensorflowext.train.Variables;
import org.tensorflowext.train.Zeros;

/**
 * Trains a network whose loss contains a gradient: the norm of the output's gradient by the input
 * must be near 1. Training takes the gradient of that gradient.
 *
 * <p>Prints the loss of each step. examples/training/reference.py is the same in Python.
 * TENSORFLOW_EXT_LIBRARY names libtensorflow_ext.so.
 */
final class GradientPenalty {
  private static Operand<TFloat32> dense(
      Ops tf, Operand<TFloat32> x, Output<?> kernel, Output<?> bias) {
    Operand<TFloat32> product = tf.linalg.matMul(x, tf.readVariableOp(kernel, TFloat32.class));
    return tf.nn.biasAdd(product, tf.readVariableOp(bias, TFloat32.class));
  }

  public static void main(String[] arguments) {
    TfExtLibrary.load();
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      Variables variables =
          new Variables.Builder(graph)
              .add("hidden/kernel", TFloat32.class, Shape.of(4, 16), new GlorotUniform().seed(1))
              .add("hidden/bias", TFloat32.class, Shape.of(16), new Zeros())
              .add("output/kernel", TFloat32.class, Shape.of(16, 1), new GlorotUniform().seed(2))
              .add("output/bias", TFloat32.class, Shape.of(1), new Zeros())
              .build();
      List<Output<?>> v = variables.handles();
      Operand<TInt64> seed = tf.placeholder(TInt64.class);
      Operand<TFloat32> x = tf.random.statelessRandomNormal(tf.array(64, 4), seed);
      Operand<TFloat32> target =
          tf.math.sin(tf.reduceSum(x, tf.constant(1), ReduceSum.keepDims(true)));
      Operand<TFloat32> hidden = tf.math.tanh(dense(tf, x, v.get(0), v.get(1)));
      Operand<TFloat32> y = dense(tf, hidden, v.get(2), v.get(3));
      Operand<TFloat32> dx =
          Gradients.add(y, List.of(x)).get(0).orElseThrow().expect(TFloat32.class);
      Operand<TFloat32> norm = tf.math.sqrt(tf.reduceSum(tf.math.square(dx), tf.constant(1)));
      Operand<TFloat32> penalty =
          tf.math.mean(tf.math.squaredDifference(norm, tf.constant(1f)), tf.constant(0));
      Operand<TFloat32> error =
          tf.math.mean(tf.math.squaredDifference(y, target), tf.array(0, 1));
      Operand<TFloat32> loss = tf.math.add(error, tf.math.mul(tf.constant(0.1f), penalty));

      SGD sgd = new SGD().learningRate(0.05).momentum(0.9);
      Training training = Training.minimize(graph, loss, v, sgd);
      session.runner().addTarget(variables.initialize()).addTarget(training.initialize()).run().close();
      for (long step = 0; step < 100; ++step) {
        try (TInt64 value = TInt64.vectorOf(step, 7);
            Result result =
                session.runner().feed(seed, value).fetch(loss).addTarget(training.step()).run()) {
          System.out.printf("%.9g%n", ((TFloat32) result.get(0)).getFloat());
        }
      }
    }
  }
}
