import java.util.List;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.TInt64;
import org.tensorflowext.op.TfExtLibrary;
import org.tensorflowext.train.Adam;
import org.tensorflowext.train.GlorotUniform;
import org.tensorflowext.train.Optimizer;
import org.tensorflowext.train.RandomUniform;
import org.tensorflowext.train.Saver;
import org.tensorflowext.train.Training;
import org.tensorflowext.train.Variables;
import org.tensorflowext.train.Zeros;

/**
 * Trains an embedding table and a head lazily: a step changes only the rows that it gathers.
 *
 * <p>{@code train_embedding PREFIX} prints the loss of each step, and writes a checkpoint.
 * examples/training/reference.py is the same in Python. TENSORFLOW_EXT_LIBRARY names
 * libtensorflow_ext.so.
 */
final class TrainEmbedding {
  public static void main(String[] arguments) {
    TfExtLibrary.load();
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      Variables variables =
          new Variables.Builder(graph)
              .add("embedding/table", TFloat32.class, Shape.of(1000, 8), new RandomUniform().seed(1))
              .add("head/kernel", TFloat32.class, Shape.of(8, 3), new GlorotUniform().seed(2))
              .add("head/bias", TFloat32.class, Shape.of(3), new Zeros())
              .build();
      List<Output<?>> handles = variables.handles();
      Operand<TInt64> seed = tf.placeholder(TInt64.class);
      Operand<TInt32> ids =
          tf.random.statelessRandomUniformInt(
              tf.array(64), seed, tf.constant(0), tf.constant(1000));
      Operand<TFloat32> rows = tf.resourceGather(handles.get(0), ids, TFloat32.class);
      Operand<TFloat32> kernel = tf.readVariableOp(handles.get(1), TFloat32.class);
      Operand<TFloat32> bias = tf.readVariableOp(handles.get(2), TFloat32.class);
      Operand<TFloat32> logits = tf.nn.biasAdd(tf.linalg.matMul(rows, kernel), bias);
      Operand<TInt32> labels = tf.math.floorMod(ids, tf.constant(3));
      Operand<TFloat32> losses = tf.nn.sparseSoftmaxCrossEntropyWithLogits(logits, labels).loss();
      Operand<TFloat32> loss = tf.math.mean(losses, tf.constant(0));

      Optimizer adam = new Adam().learningRate(0.02).lazy(true);
      Training training = Training.minimize(graph, loss, handles, adam);
      Saver saver = Saver.add(graph, variables.saved(), training.saved("optimizer"));
      session.runner().addTarget(variables.initialize()).addTarget(training.initialize()).run().close();
      for (long step = 0; step < 100; ++step) {
        try (TInt64 value = TInt64.vectorOf(step, 7);
            Result result =
                session.runner().feed(seed, value).fetch(loss).addTarget(training.step()).run()) {
          System.out.printf("%.9g%n", ((TFloat32) result.get(0)).getFloat());
        }
      }
      saver.save(session, arguments[0]);
    }
  }
}
