package org.tensorflowext.clients;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.tensorflow.Tensor;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffer;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.proto.DataType;
import org.tensorflow.types.TBfloat16;
import org.tensorflow.types.TBool;
import org.tensorflow.types.TFloat16;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TFloat64;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.TInt64;
import org.tensorflow.types.TString;
import org.tensorflow.types.TUint16;
import org.tensorflow.types.TUint8;
import org.tensorflow.types.family.TType;

/**
 * A tensor of the protocol.
 *
 * @param type its type
 * @param shape its shape
 * @param bytes its values, row-major; empty for strings
 * @param strings its values if they are strings
 */
record Value(DataType type, long[] shape, byte[] bytes, List<byte[]> strings) {
  /** The types of TensorFlow Java's tensors. */
  private static final Map<DataType, Class<? extends TType>> CLASSES =
      Map.of(
          DataType.DT_HALF, TFloat16.class,
          DataType.DT_BFLOAT16, TBfloat16.class,
          DataType.DT_FLOAT, TFloat32.class,
          DataType.DT_DOUBLE, TFloat64.class,
          DataType.DT_INT32, TInt32.class,
          DataType.DT_INT64, TInt64.class,
          DataType.DT_UINT8, TUint8.class,
          DataType.DT_UINT16, TUint16.class,
          DataType.DT_BOOL, TBool.class,
          DataType.DT_STRING, TString.class);

  static Value ofStrings(long[] shape, List<byte[]> strings) {
    return new Value(DataType.DT_STRING, shape, new byte[0], strings);
  }

  /** True if TensorFlow Java has tensors of a type. */
  static boolean hasTensors(DataType type) {
    return CLASSES.containsKey(type);
  }

  /** The tensor, of a supported type; the caller closes it. */
  Tensor toTensor() {
    if (type == DataType.DT_STRING) {
      byte[][] values = strings.toArray(new byte[0][]);
      DataBuffer<byte[]> buffer =
          DataBuffers.of(values, /* readOnly= */ true, /* makeCopy= */ false);
      return TString.tensorOfBytes(Shape.of(shape), buffer);
    }
    return Tensor.of(CLASSES.get(type), Shape.of(shape), DataBuffers.of(bytes));
  }

  /** The values of a tensor. */
  static Value of(Tensor tensor) {
    long[] shape = tensor.shape().asArray();
    if (tensor instanceof TString strings) {
      List<byte[]> values = new ArrayList<>();
      strings.asBytes().scalars().forEach(scalar -> values.add(scalar.getObject()));
      return ofStrings(shape, values);
    }
    byte[] bytes = new byte[(int) tensor.numBytes()];
    if (bytes.length > 0) {
      tensor.asRawTensor().data().read(bytes);
    }
    return new Value(tensor.dataType(), shape, bytes, List.of());
  }
}
