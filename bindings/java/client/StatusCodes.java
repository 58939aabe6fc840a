package org.tensorflowext.clients;

import java.util.Map;
import java.util.NoSuchElementException;
import org.tensorflow.exceptions.TFFailedPreconditionException;
import org.tensorflow.exceptions.TFInvalidArgumentException;
import org.tensorflow.exceptions.TFOutOfRangeException;
import org.tensorflow.exceptions.TFPermissionDeniedException;
import org.tensorflow.exceptions.TFResourceExhaustedException;
import org.tensorflow.exceptions.TFUnauthenticatedException;
import org.tensorflow.exceptions.TFUnimplementedException;

/**
 * TensorFlow's code for an exception of TensorFlow Java. It cannot tell codes that have no
 * exception class (CANCELLED, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, ABORTED, INTERNAL,
 * UNAVAILABLE and DATA_LOSS).
 */
final class StatusCodes {
  static final int OK = 0;
  private static final int UNKNOWN = 2;

  private static final Map<Class<? extends Throwable>, Integer> CODES =
      Map.of(
          TFInvalidArgumentException.class, 3,
          NoSuchElementException.class, 5,
          UnsatisfiedLinkError.class, 5,
          TFPermissionDeniedException.class, 7,
          TFResourceExhaustedException.class, 8,
          TFFailedPreconditionException.class, 9,
          TFOutOfRangeException.class, 11,
          TFUnimplementedException.class, 12,
          TFUnauthenticatedException.class, 16);

  private StatusCodes() {}

  static int of(Throwable thrown) {
    return CODES.getOrDefault(thrown.getClass(), UNKNOWN);
  }
}
