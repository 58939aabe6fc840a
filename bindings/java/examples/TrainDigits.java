package org.tensorflowext.clients;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.Tensor;
import org.tensorflow.TensorFlow;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.types.TFloat64;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.TInt64;
import org.tensorflow.types.family.TNumber;
import org.tensorflowext.op.ReverseGradient;
import org.tensorflowext.op.TfExtOps;
import org.tensorflowext.train.GlorotUniform;
import org.tensorflowext.train.Optimizer;
import org.tensorflowext.train.SGD;
import org.tensorflowext.train.Training;
import org.tensorflowext.train.Variables;
import org.tensorflowext.train.Zeros;

/**
 * Trains the network of examples/digits/network.py: {@code train_digits LIBRARY FOLDER}.
 *
 * <p>bindings/cxx/examples/train_digits.cc describes the folder. Prints the loss of each step;
 * writes the accuracy on the test set into the folder.
 */
public final class TrainDigits {
  private final Path folder;
  private final Ops tf;
  private final TfExtOps tfExt;
  private final TFloat64 settings;

  private TrainDigits(Ops tf, Path folder) throws IOException {
    this.folder = folder;
    this.tf = tf;
    tfExt = TfExtOps.create(tf);
    settings = read("settings", TFloat64.class);
  }

  /** Takes the library and the folder. */
  public static void main(String[] arguments) {
    if (arguments.length != 2) {
      System.err.println("usage: train_digits LIBRARY FOLDER");
      System.exit(2);
    }
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      TensorFlow.loadLibrary(arguments[0]);
      new TrainDigits(Ops.create(graph), Path.of(arguments[1])).run(graph, session);
    } catch (Exception | UnsatisfiedLinkError e) {
      System.err.println("train_digits: " + e);
      System.exit(1);
    }
  }

  private void run(Graph graph, Session session) throws IOException {
    long[][] kernels = {{64, 128}, {128, 64}, {64, 10}, {64, 2}};
    Variables.Builder builder = new Variables.Builder(graph);
    for (int i = 0; i < kernels.length; ++i) {
      Shape shape = Shape.of(kernels[i]);
      String layer = "layer_" + i;
      builder
          .add(layer + "/kernel", TFloat64.class, shape, new GlorotUniform().seed(i))
          .add(layer + "/bias", TFloat64.class, shape.tail(), new Zeros());
    }
    Variables variables = builder.build();
    List<Output<?>> w = variables.handles();
    Placeholder<TFloat64> x = tf.placeholder(TFloat64.class);
    Placeholder<TInt32> label = tf.placeholder(TInt32.class);
    Placeholder<TInt32> domain = tf.placeholder(TInt32.class);

    Operand<TFloat64> hidden = tfExt.relu(dense(x, w.get(0), w.get(1)));
    Operand<TFloat64> features = quantize(tfExt.relu(dense(hidden, w.get(2), w.get(3))));
    Operand<TFloat64> logits = dense(features, w.get(4), w.get(5));
    Operand<TFloat64> reversed =
        tfExt.reverseGradient(features, ReverseGradient.scale((float) settings.getDouble(3)));
    Operand<TFloat64> domainLogits = dense(reversed, w.get(6), w.get(7));
    Operand<TFloat64> loss =
        tf.math.add(crossEntropy(logits, label), crossEntropy(domainLogits, domain));

    Optimizer sgd = new SGD().learningRate(settings.getDouble(0)).momentum(settings.getDouble(1));
    Training training = Training.minimize(graph, loss, w, sgd);
    Session.Runner initialize = session.runner().addTarget(variables.initialize());
    initialize.addTarget(training.initialize()).run().close();
    train(session, training, loss, x, label, domain);
    test(session, x, tf.math.argMax(logits, tf.constant(1)));
  }

  private Operand<TFloat64> dense(Operand<TFloat64> x, Output<?> kernel, Output<?> bias) {
    Operand<TFloat64> product = tf.linalg.matMul(x, tf.readVariableOp(kernel, TFloat64.class));
    return tf.nn.biasAdd(product, tf.readVariableOp(bias, TFloat64.class));
  }

  /**
   * Activations with that many levels per unit: rounded in the forward pass, the identity in the
   * gradient.
   */
  private Operand<TFloat64> quantize(Operand<TFloat64> x) {
    Operand<TFloat64> levels = tf.constant(settings.getDouble(2));
    return tf.math.div(tfExt.roundStraightThrough(tf.math.mul(x, levels)), levels);
  }

  /** The mean cross-entropy, summed as Keras sums it. */
  private Operand<TFloat64> crossEntropy(Operand<TFloat64> logits, Operand<TInt32> labels) {
    Operand<TFloat64> losses =
        tf.nn.sparseSoftmaxCrossEntropyWithLogits(logits, labels).loss();
    return tf.math.mean(losses, tf.constant(0));
  }

  private void train(
      Session session,
      Training training,
      Operand<TFloat64> loss,
      Operand<TFloat64> x,
      Operand<TInt32> label,
      Operand<TInt32> domain)
      throws IOException {
    try (TFloat64 allX = read("x", TFloat64.class);
        TInt32 allLabels = read("label", TInt32.class);
        TInt32 allDomains = read("domain", TInt32.class)) {
      for (long step = 0; step < allX.shape().get(0); ++step) {
        try (TFloat64 batchX = TFloat64.tensorOf(allX.get(step));
            TInt32 batchLabels = TInt32.tensorOf(allLabels.get(step));
            TInt32 batchDomains = TInt32.tensorOf(allDomains.get(step))) {
          Session.Runner runner =
              session
                  .runner()
                  .feed(x, batchX)
                  .feed(label, batchLabels)
                  .feed(domain, batchDomains)
                  .addTarget(training.step())
                  .fetch(loss);
          try (Result result = runner.run()) {
            // Prints a double exactly, as "%.17g" would.
            System.out.println(((TFloat64) result.get(0)).getDouble());
          }
        }
      }
    }
  }

  private void test(Session session, Operand<TFloat64> x, Operand<TInt64> predictions)
      throws IOException {
    try (TFloat64 testX = read("test_x", TFloat64.class);
        TInt32 labels = read("test_label", TInt32.class);
        Result result = session.runner().feed(x, testX).fetch(predictions).run()) {
      TInt64 predicted = (TInt64) result.get(0);
      long right = 0;
      for (long i = 0; i < labels.size(); ++i) {
        right += predicted.getLong(i) == labels.getInt(i) ? 1 : 0;
      }
      try (TFloat64 accuracy = TFloat64.scalarOf((double) right / labels.size());
          OutputStream out = Files.newOutputStream(folder.resolve("accuracy"))) {
        Wire wire = new Wire(null, out);
        wire.write(Value.of(accuracy));
        wire.flush();
      }
    }
  }

  private <T extends TNumber> T read(String name, Class<T> type) throws IOException {
    Path file = folder.resolve(name);
    String expected = file + ": expected a tensor of type double or int32; programs.py writes it";
    try (BufferedInputStream in = new BufferedInputStream(Files.newInputStream(file))) {
      Tensor tensor = new Wire(in, OutputStream.nullOutputStream()).readValue().toTensor();
      if (type.isInstance(tensor)) {
        return type.cast(tensor);
      }
      tensor.close();
      throw new IOException(expected);
    } catch (Wire.MalformedException | EOFException e) {
      throw new IOException(expected, e);
    }
  }
}
