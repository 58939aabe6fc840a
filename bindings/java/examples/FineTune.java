import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;
import org.tensorflowext.TensorFlowExt;
import org.tensorflowext.train.SGD;
import org.tensorflowext.train.TrainableModel;
import org.tensorflowext.train.Training;

/**
 * Trains a SavedModel further: {@code fine_tune MODEL DATA BATCH RATE [OUT]}.
 *
 * <p>MODEL is the folder of a classifier whose signature "train", or "serving_default" if there is
 * none, has one float input and returns logits. The trained one is written to OUT, by default to
 * MODEL. DATA is a folder with the training data of all steps as raw values: x, floats, and labels,
 * 32-bit integers. BATCH is the number of examples per step, RATE the learning rate. Prints the
 * loss of each step.
 */
public final class FineTune {
  private FineTune() {}

  private static ByteBuffer readFile(Path file) throws IOException {
    return ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void require(boolean condition, String what) {
    if (!condition) {
      throw new IllegalArgumentException(what);
    }
  }

  private static void run(String folder, Path data, int batch, float rate, String out)
      throws IOException {
    TensorFlowExt.load();
    try (TrainableModel model = TrainableModel.load(folder)) {
      require(
          model.inputs().size() == 1 && model.outputs().size() == 1,
          "expected a signature with one input and one output");
      Output<?> input = model.inputs().values().iterator().next();
      Output<?> logits = model.outputs().values().iterator().next();

      // The mean cross-entropy, its gradients, and a step of gradient descent.
      Ops tf = Ops.create(model.graph());
      Operand<TInt32> labels = tf.placeholder(TInt32.class);
      Operand<TFloat32> losses =
          tf.nn.sparseSoftmaxCrossEntropyWithLogits(logits.expect(TFloat32.class), labels).loss();
      Operand<TFloat32> loss = tf.math.mean(losses, tf.constant(0));
      SGD sgd = new SGD().learningRate(rate);
      Training training = Training.minimize(model.graph(), loss, model.variables(), sgd);
      Session session = model.session();
      session.runner().addTarget(training.initialize()).run().close();

      FloatBuffer x = readFile(data.resolve("x")).asFloatBuffer();
      IntBuffer y = readFile(data.resolve("labels")).asIntBuffer();
      Shape example = input.shape().tail();
      require(
          !example.hasUnknownDimension(), "expected an input whose only unknown size is the batch");
      int features = (int) example.size();
      require(
          x.limit() == (long) y.limit() * features && y.limit() % batch == 0,
          String.format(
              "x has %d floats for %d labels; expected %d for each, and whole batches of %d",
              x.limit(), y.limit(), features, batch));
      float[] batchX = new float[batch * features];
      int[] batchY = new int[batch];
      while (y.hasRemaining()) {
        x.get(batchX);
        y.get(batchY);
        try (TFloat32 xs = TFloat32.tensorOf(example.prepend(batch), DataBuffers.of(batchX));
            TInt32 ys = TInt32.vectorOf(batchY)) {
          Session.Runner runner = session.runner().feed(input, xs).feed(labels, ys).fetch(loss);
          try (Result result = runner.addTarget(training.step()).run()) {
            System.out.printf("%.9g%n", ((TFloat32) result.get(0)).getFloat());
          }
        }
      }
      model.save(out);
    }
  }

  /** Runs the training that the class describes. */
  public static void main(String[] arguments) {
    int count = arguments.length;
    if (count < 4 || count > 5 || Integer.parseInt(arguments[2]) < 1) {
      System.err.println("usage: fine_tune MODEL DATA BATCH RATE [OUT]");
      System.exit(2);
    }
    try {
      int batch = Integer.parseInt(arguments[2]);
      float rate = Float.parseFloat(arguments[3]);
      run(arguments[0], Path.of(arguments[1]), batch, rate, arguments[count == 5 ? 4 : 0]);
    } catch (IOException | RuntimeException | UnsatisfiedLinkError e) {
      System.err.println("fine_tune: " + e.getMessage());
      System.exit(1);
    }
  }
}
