// SPDX-License-Identifier: Apache-2.0

import com.google.protobuf.InvalidProtocolBufferException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tensorflow.EagerSession;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.SavedModelBundle;
import org.tensorflow.Session;
import org.tensorflow.ndarray.NdArrays;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.GraphDef;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.TString;
import org.tensorflowext.TensorFlowExt;
import org.tensorflowext.op.InlineCalls;
import org.tensorflowext.op.TfExtOps;
import org.tensorflowext.train.SGD;
import org.tensorflowext.train.Training;

/**
 * Trains a SavedModel further: {@code fine_tune MODEL DATA BATCH RATE}.
 *
 * <p>MODEL is the folder of a classifier whose signature "train", or "serving_default" if there is
 * none, has one float input and returns logits; its variables are overwritten at the end. DATA is a folder with the training data of all steps as raw values: x,
 * floats, and labels, 32-bit integers. BATCH is the number of examples per step, RATE the learning
 * rate. Prints the loss of each step.
 */
public final class FineTune {
  private final Graph graph;
  private final Session session;
  // The model's own parts.
  private Output<TFloat32> input;
  private Shape example;
  private Output<TFloat32> logits;
  private final List<Output<?>> variables = new ArrayList<>();
  private Output<?> saverFilename;
  private Output<?> saverSave;
  private final List<String> saverCopies = new ArrayList<>();
  // The additions to its graph.
  private final Operand<TInt32> labels;
  private final Operand<TFloat32> loss;
  private final Training training;

  private FineTune(SavedModelBundle model, String folder, float rate)
      throws InvalidProtocolBufferException {
    graph = model.graph();
    session = model.session();
    try (EagerSession eager = EagerSession.create()) {
      Ops tf = Ops.create(eager);
      read(folder, tf);
      inlineCalls(tf);
    }
    Ops tf = Ops.create(graph);
    labels = tf.placeholder(TInt32.class);
    Operand<TFloat32> losses = tf.nn.sparseSoftmaxCrossEntropyWithLogits(logits, labels).loss();
    loss = tf.math.mean(losses, tf.constant(0));
    training = Training.minimize(graph, loss, variables, new SGD().learningRate(rate));
    session.runner().addTarget(training.initialize()).run().close();
  }

  /**
   * Makes the graph use the gradients that the model brings, and finds its signature, the trainable
   * variables and the saver.
   */
  private void read(String folder, Ops tf) throws InvalidProtocolBufferException {
    TString gradients =
        TfExtOps.create(tf).savedModelGradients(tf.constant(folder)).graphDef().asTensor();
    graph.importGraphDef(GraphDef.parseFrom(gradients.asBytes().getObject()));
    TString found = TfExtOps.create(tf).describeSavedModel(tf.constant(folder)).lines().asTensor();
    List<String> lines = new ArrayList<>();
    found.scalars().forEach(line -> lines.add(line.getObject()));
    boolean hasTrain = lines.stream().anyMatch(line -> line.startsWith("signature\ttrain\t"));
    String signature = "signature " + (hasTrain ? "train" : "serving_default");
    lines.forEach(line -> readLine(line.split("\t", -1), signature));
    require(
        input != null && logits != null && !variables.isEmpty() && saverSave != null,
        "expected a model with a signature train or serving_default, trainable variables and a"
            + " saver");
  }

  private void readLine(String[] field, String signature) {
    boolean saver = field[0].equals("saver");
    if (!saver && !(field[0] + " " + field[1]).equals(signature)) {
      return;
    }
    switch (saver ? field[1] : field[2]) {
      case "filename" -> saverFilename = graph.outputOrThrow(field[2]);
      case "copy" -> saverCopies.add(field[2]);
      case "save" -> saverSave = graph.outputOrThrow(field[2]);
      case "input" -> {
        require(
            input == null && field[5].equals("float"),
            "expected a signature with one input, of floats");
        input = graph.outputOrThrow(field[4]).expect(TFloat32.class);
        example = input.shape().takeLast(input.shape().numDimensions() - 1);
        require(
            !example.hasUnknownDimension(),
            "expected an input whose only unknown size is the batch");
      }
      case "output" -> {
        require(logits == null, "expected a signature with one output");
        logits = graph.outputOrThrow(field[4]).expect(TFloat32.class);
      }
      case "variable" -> {
        if (field[6].equals("trainable")) {
          variables.add(graph.outputOrThrow(field[3] + ":0"));
        }
      }
      default -> {} // "restore" of the saver.
    }
  }

  /**
   * Adds a copy of the model's nodes to the graph, in which plain nodes replace the calls of
   * functions, and uses it from now on. A copied variable is the same one to the session, because
   * sessions know variables by the attribute "shared_name".
   */
  private void inlineCalls(Ops tf) throws InvalidProtocolBufferException {
    GraphDef model = graph.toGraphDef();
    TString bytes = TString.tensorOfBytes(NdArrays.scalarOfObject(model.toByteArray()));
    InlineCalls<TString> copy =
        TfExtOps.create(tf).inlineCalls(tf.constantOf(bytes), tf.array(name(logits)));
    byte[] nodes = copy.nodes().asTensor().asBytes().getObject();
    graph.importGraphDef(model.toBuilder().mergeFrom(nodes).build(), "inlined");
    logits = copied(copy.inlined().asTensor().getObject(0)).expect(TFloat32.class);
    input = copied(name(input)).expect(TFloat32.class);
    variables.replaceAll(variable -> copied(name(variable)));
  }

  private Output<?> copied(String name) {
    return graph.outputOrThrow("inlined/" + name);
  }

  private static String name(Output<?> tensor) {
    return tensor.op().name() + ":" + tensor.index();
  }

  /** Runs one step; returns the loss before it. */
  private float step(float[] x, int[] y) {
    try (TFloat32 batch = TFloat32.tensorOf(example.prepend(y.length), DataBuffers.of(x));
        TInt32 batchLabels = TInt32.vectorOf(y)) {
      Session.Runner runner =
          session.runner().feed(input, batch).feed(labels, batchLabels).fetch(loss);
      runner.addTarget(training.step());
      try (Result result = runner.run()) {
        return ((TFloat32) result.get(0)).getFloat();
      }
    }
  }

  /** Writes the variables into the folder of the model, with its own saver. */
  private void save(String folder) {
    // Keras exports each variable twice; Python reads the copy, which these ops assign.
    Session.Runner copies = session.runner();
    saverCopies.forEach(copies::addTarget);
    if (!copies.isEmpty()) {
      copies.run().close();
    }
    try (TString prefix = TString.scalarOf(folder + "/variables/variables")) {
      session.runner().feed(saverFilename, prefix).fetch(saverSave).run().close();
    }
  }

  private static void require(boolean condition, String what) {
    if (!condition) {
      throw new IllegalArgumentException(what);
    }
  }

  private static ByteBuffer readFile(Path file) throws IOException {
    return ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void run(String folder, Path data, int batch, float rate) throws IOException {
    float[] x = new float[(int) Files.size(data.resolve("x")) / Float.BYTES];
    readFile(data.resolve("x")).asFloatBuffer().get(x);
    int[] y = new int[(int) Files.size(data.resolve("labels")) / Integer.BYTES];
    readFile(data.resolve("labels")).asIntBuffer().get(y);
    TensorFlowExt.load();
    try (SavedModelBundle model = SavedModelBundle.load(folder, "serve")) {
      FineTune training = new FineTune(model, folder, rate);
      int features = (int) training.example.size();
      require(
          x.length == (long) y.length * features && y.length % batch == 0,
          String.format(
              "x has %d floats for %d labels; expected %d for each, and whole batches of %d",
              x.length, y.length, features, batch));
      for (int i = 0; i < y.length; i += batch) {
        float[] batchX = Arrays.copyOfRange(x, i * features, (i + batch) * features);
        int[] batchY = Arrays.copyOfRange(y, i, i + batch);
        System.out.printf("%.9g%n", training.step(batchX, batchY));
      }
      training.save(folder);
    }
  }

  /** Runs the training that the class describes. */
  public static void main(String[] arguments) {
    if (arguments.length != 4 || Integer.parseInt(arguments[2]) < 1) {
      System.err.println("usage: fine_tune MODEL DATA BATCH RATE");
      System.exit(2);
    }
    try {
      run(
          arguments[0],
          Path.of(arguments[1]),
          Integer.parseInt(arguments[2]),
          Float.parseFloat(arguments[3]));
    } catch (IOException | RuntimeException | UnsatisfiedLinkError e) {
      System.err.println("fine_tune: " + e.getMessage());
      System.exit(1);
    }
  }
}
