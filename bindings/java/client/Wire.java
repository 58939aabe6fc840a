package org.tensorflowext.clients;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.tensorflow.proto.DataType;

/**
 * Reads requests and writes answers. Integers are little-endian, unlike those of Java's streams.
 */
final class Wire {
  /** A malformed request. */
  static final class MalformedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    MalformedException(String what) {
      super("malformed request: " + what);
    }
  }

  /** Reads one value. */
  interface Reader<T> {
    T read() throws IOException;
  }

  private final DataInputStream in;
  private final DataOutputStream out;

  Wire(InputStream in, OutputStream out) {
    this.in = new DataInputStream(in);
    this.out = new DataOutputStream(new BufferedOutputStream(out));
  }

  /** True if another request follows. */
  boolean hasNext() throws IOException {
    in.mark(1);
    int next = in.read();
    in.reset();
    return next >= 0;
  }

  long readInt() throws IOException {
    return Long.reverseBytes(in.readLong());
  }

  int readIndex() throws IOException {
    return (int) readInt();
  }

  private int readCount() throws IOException {
    long count = readInt();
    if (count < 0 || count > Integer.MAX_VALUE) {
      throw new MalformedException("a count is out of range: " + count);
    }
    return (int) count;
  }

  byte[] readBytes() throws IOException {
    int count = readCount();
    byte[] bytes = in.readNBytes(count);
    if (bytes.length < count) {
      throw new MalformedException("it ends too early");
    }
    return bytes;
  }

  String readString() throws IOException {
    return new String(readBytes(), StandardCharsets.UTF_8);
  }

  <T> List<T> readList(Reader<T> reader) throws IOException {
    int count = readCount();
    List<T> list = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      list.add(reader.read());
    }
    return list;
  }

  /** A list of pairs, in their order. */
  <K, V> Map<K, V> readMap(Reader<K> key, Reader<V> value) throws IOException {
    Map<K, V> map = new LinkedHashMap<>();
    for (Map.Entry<K, V> entry : readList(() -> Map.entry(key.read(), value.read()))) {
      map.put(entry.getKey(), entry.getValue());
    }
    return map;
  }

  Value readValue() throws IOException {
    DataType type = DataType.forNumber((int) readInt());
    if (type == null || type == DataType.DT_INVALID) {
      throw new MalformedException("a tensor of no type");
    }
    long[] shape = readList(this::readInt).stream().mapToLong(Long::longValue).toArray();
    return type == DataType.DT_STRING
        ? Value.ofStrings(shape, readList(this::readBytes))
        : new Value(type, shape, readBytes(), List.of());
  }

  void write(long number) throws IOException {
    out.writeLong(Long.reverseBytes(number));
  }

  void write(byte[] bytes) throws IOException {
    write(bytes.length);
    out.write(bytes);
  }

  void write(String text) throws IOException {
    write(text.getBytes(StandardCharsets.UTF_8));
  }

  void write(Value value) throws IOException {
    write(value.type().getNumber());
    write(value.shape().length);
    for (long size : value.shape()) {
      write(size);
    }
    if (value.type() != DataType.DT_STRING) {
      write(value.bytes());
      return;
    }
    write(value.strings().size());
    for (byte[] string : value.strings()) {
      write(string);
    }
  }

  void flush() throws IOException {
    out.flush();
  }
}
