import org.tensorflow.Graph;
import org.tensorflow.Output;
import org.tensorflow.TensorFlow;
import org.tensorflow.proto.DataType;
import org.tensorflowext.op.TfExtLibrary;

/** Says whether TensorFlow has an op of this library, which it loads. */
public final class Program {
  public static void main(String[] arguments) {
    TfExtLibrary.load();
    try (Graph graph = new Graph()) {
      Output<?> x =
          graph
              .opBuilder("Placeholder", "x", graph.baseScope())
              .setAttr("dtype", DataType.DT_FLOAT)
              .build()
              .output(0);
      graph.opBuilder("TfExt>Relu", "relu", graph.baseScope()).addInput(x).build();
    }
    System.out.println("TensorFlow " + TensorFlow.version() + " has TfExt>Relu");
  }
}
