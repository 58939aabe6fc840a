package org.tensorflowext.clients;

import com.google.protobuf.InvalidProtocolBufferException;
import java.io.BufferedInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.tensorflow.Output;
import org.tensorflow.TensorFlow;
import org.tensorflow.exceptions.TensorFlowException;

/**
 * A client in Java: answers the judge's requests with TensorFlow Java. tests/clients/README.md
 * describes the protocol.
 */
public final class Client implements AutoCloseable {
  /** The work of a request; the answer is written after it has succeeded. */
  private interface Request {
    Answer run() throws Exception;
  }

  private interface Answer {
    void write() throws IOException;
  }

  private static final Answer NOTHING = () -> {};

  private final Wire wire;
  private Model model = new Model();
  private String target = "";

  private Client(Wire wire) {
    this.wire = wire;
  }

  /** Answers requests until the input ends. */
  public static void main(String[] arguments) throws IOException {
    // The judge reads only answers, so other output must not go to System.out.
    try (FileInputStream in = new FileInputStream(FileDescriptor.in);
        FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        Client client = new Client(new Wire(new BufferedInputStream(in), out))) {
      while (client.wire.hasNext()) {
        client.answer(client.wire.readString());
      }
    } catch (Wire.MalformedException | IOException e) {
      System.err.println(e);
      System.exit(1);
    }
  }

  /** Reads a request's arguments, does its work, and writes the answer. */
  private void answer(String name) throws IOException {
    Request request = read(name);
    Answer answer;
    try {
      answer = request.run();
      wire.write(StatusCodes.OK);
    } catch (Wire.MalformedException e) {
      throw e;
    } catch (Exception | LinkageError e) {
      wire.write(StatusCodes.of(e));
      wire.write(String.valueOf(e.getMessage()));
      answer = NOTHING;
    }
    answer.write();
    wire.flush();
  }

  private Request read(String name) throws IOException {
    switch (name) {
      case "library":
        String library = wire.readString();
        return () -> {
          try {
            TensorFlow.loadLibrary(library);
          } catch (TensorFlowException e) {
            // The library is loaded by then. Java cannot read the empty list of ops of a library
            // that has only kernels.
            if (!(e.getCause() instanceof InvalidProtocolBufferException)) {
              throw e;
            }
          }
          return NOTHING;
        };
      case "connect":
        target = wire.readString();
        return () -> NOTHING;
      case "import":
        byte[] imported = wire.readBytes();
        return () -> {
          replace(new Model());
          model.add(imported);
          model.open(target);
          return NOTHING;
        };
      case "saved_model":
        String folder = wire.readString();
        return () -> {
          replace(Model.load(folder));
          return NOTHING;
        };
      case "add":
        byte[] added = wire.readBytes();
        return () -> {
          model.add(added);
          return NOTHING;
        };
      case "export":
        return () -> {
          byte[] exported = model.export();
          return () -> wire.write(exported);
        };
      case "gradients":
        return readGradients();
      case "run":
        return readRun();
      case "eager":
        return readEager();
      case "threads":
        return readThreads();
      default:
        throw new Wire.MalformedException(name);
    }
  }

  private Request readGradients() throws IOException {
    List<String> ys = wire.readList(wire::readString);
    List<String> xs = wire.readList(wire::readString);
    List<String> upstreams = wire.readList(wire::readString);
    return () -> {
      Output<?>[] gradients = model.addGradients(ys, xs, upstreams);
      return () -> {
        wire.write(gradients.length);
        for (Output<?> gradient : gradients) {
          wire.write(gradient.isClosed() ? "" : gradient.op().name() + ":" + gradient.index());
        }
      };
    };
  }

  private Request readRun() throws IOException {
    Map<String, Value> feeds = wire.readMap(wire::readString, wire::readValue);
    List<String> fetches = wire.readList(wire::readString);
    return () -> {
      List<Value> results = model.run(feeds, fetches);
      return () -> writeValues(results);
    };
  }

  private Request readEager() throws IOException {
    EagerOp op =
        new EagerOp(
            wire.readString(),
            wire.readMap(wire::readString, wire::readBytes),
            wire.readList(wire::readValue),
            wire.readList(wire::readIndex),
            wire.readMap(wire::readIndex, wire::readValue),
            wire.readMap(wire::readIndex, wire::readValue));
    return () -> {
      List<List<Value>> results = op.run();
      return () -> {
        for (List<Value> result : results) {
          writeValues(result);
        }
      };
    };
  }

  private Request readThreads() throws IOException {
    int count = (int) wire.readInt();
    byte[] graphDef = wire.readBytes();
    List<String> ys = wire.readList(wire::readString);
    List<String> xs = wire.readList(wire::readString);
    List<String> upstreams = wire.readList(wire::readString);
    Map<String, Value> feeds = wire.readMap(wire::readString, wire::readValue);
    Callable<List<Value>> one =
        () -> {
          try (Model own = new Model()) {
            own.add(graphDef);
            own.open(target);
            Output<?>[] gradients = own.addGradients(ys, xs, upstreams);
            return own.runOutputs(feeds, List.of(gradients));
          }
        };
    return () -> {
      List<List<Value>> results = inThreads(count, one);
      return () -> {
        wire.write(results.size());
        for (List<Value> result : results) {
          writeValues(result);
        }
      };
    };
  }

  /** The results of a task in that many threads. */
  private static <T> List<T> inThreads(int count, Callable<T> task) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(count);
    try {
      List<Future<T>> futures = new ArrayList<>();
      for (int i = 0; i < count; ++i) {
        futures.add(threads.submit(task));
      }
      List<T> results = new ArrayList<>();
      for (Future<T> future : futures) {
        results.add(future.get());
      }
      return results;
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    } finally {
      threads.shutdown();
    }
  }

  private void writeValues(List<Value> values) throws IOException {
    wire.write(values.size());
    for (Value value : values) {
      wire.write(value);
    }
  }

  private void replace(Model other) {
    model.close();
    model = other;
  }

  @Override
  public void close() {
    model.close();
  }
}
