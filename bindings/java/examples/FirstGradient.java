import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;
import org.tensorflowext.TensorFlowExt;
import org.tensorflowext.op.TfExtOps;

/** Prints the gradient of the sum of mish(x) at 0 and 1: 0.6 and 1.0490363. */
public final class FirstGradient {
  public static void main(String[] arguments) {
    TensorFlowExt.load();
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      Operand<TFloat32> x = tf.constant(new float[] {0, 1});
      Operand<TFloat32> y = TfExtOps.create(tf).mish(x);
      Output<?>[] gradients = graph.addGradients(y.asOutput(), new Output<?>[] {x.asOutput()});
      try (Result result = session.runner().fetch(gradients[0]).run()) {
        TFloat32 dx = (TFloat32) result.get(0);
        System.out.println(dx.getFloat(0) + " " + dx.getFloat(1));
      }
    }
  }
}
