package org.tensorflowext;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Properties;
import org.tensorflow.TensorFlow;

/** Loads the op library tensorflow_ext, which is in the jar of this class. */
public final class TensorFlowExt {
  private static final String LIBRARY = "linux-x86_64/libtensorflow_ext.so";
  private static boolean loaded;

  private TensorFlowExt() {}

  /**
   * Loads the library into TensorFlow. Its ops then exist, and {@code Graph.addGradients} finds
   * their gradients and those that the library adds for TensorFlow's ops. A second call does
   * nothing. Any thread may call this, even while others differentiate.
   *
   * <p>A user's first process that calls this copies the library out of the jar, into the folder
   * that the system property {@code org.tensorflowext.cachedir} names, or else into {@code
   * tensorflow_ext} in the user's cache ({@code $XDG_CACHE_HOME}, {@code ~/.cache}). The folder can
   * hold several versions.
   *
   * @throws UnsatisfiedLinkError if the library was built for another platform or another version
   *     of TensorFlow, or cannot be copied; the message says which
   */
  public static synchronized void load() {
    if (loaded) {
      return;
    }
    checkPlatform();
    Properties properties = properties();
    checkTensorFlow(properties.getProperty("tensorflow"));
    TensorFlow.loadLibrary(unpack(properties.getProperty("sha256")).toString());
    loaded = true;
  }

  private static void checkPlatform() {
    String system = System.getProperty("os.name");
    String machine = System.getProperty("os.arch");
    if (!system.equals("Linux") || !(machine.equals("amd64") || machine.equals("x86_64"))) {
      throw new UnsatisfiedLinkError(
          "tensorflow-ext-linux-x86_64.jar is for Linux on x86_64; this is "
              + String.format("%s on %s.", system, machine));
    }
  }

  private static void checkTensorFlow(String expected) {
    String found = TensorFlow.version();
    if (!minor(found).equals(minor(expected))) {
      throw new UnsatisfiedLinkError(
          String.format(
              "This tensorflow-ext-linux-x86_64.jar is for TensorFlow %s, but the class path has"
                  + " TensorFlow %s (tensorflow-core-native).",
              minor(expected), found));
    }
  }

  /** "2.21" for "2.21.0". */
  private static String minor(String version) {
    return version.replaceFirst("^(\\d+\\.\\d+).*", "$1");
  }

  private static Properties properties() {
    Properties properties = new Properties();
    try (InputStream stream = open("library.properties")) {
      properties.load(stream);
    } catch (IOException e) {
      throw linkError("library.properties cannot be read from the jar", e);
    }
    return properties;
  }

  /** The library as a file; copies it if there is none. */
  private static Path unpack(String sha256) {
    Path folder = cache();
    Path library = folder.resolve("libtensorflow_ext-" + sha256.substring(0, 16) + ".so");
    if (Files.isRegularFile(library)) {
      return library;
    }
    try {
      Files.createDirectories(folder);
      Path copy = Files.createTempFile(folder, "libtensorflow_ext", ".new");
      try (InputStream stream = open(LIBRARY)) {
        Files.copy(stream, copy, StandardCopyOption.REPLACE_EXISTING);
        // Atomic, so that other processes never see a partial file.
        Files.move(copy, library, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(copy);
      }
    } catch (IOException e) {
      throw linkError(
          String.format(
              "%s cannot be written; -Dorg.tensorflowext.cachedir=FOLDER names another folder",
              library),
          e);
    }
    return library;
  }

  private static Path cache() {
    String named = System.getProperty("org.tensorflowext.cachedir");
    if (named != null) {
      return Path.of(named).toAbsolutePath();
    }
    String caches = System.getenv("XDG_CACHE_HOME");
    Path cache =
        caches == null || caches.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(caches);
    return cache.resolve("tensorflow_ext").toAbsolutePath();
  }

  private static InputStream open(String resource) {
    InputStream stream = TensorFlowExt.class.getResourceAsStream(resource);
    if (stream == null) {
      throw new UnsatisfiedLinkError(
          String.format(
              "org/tensorflowext/%s is not in %s, which holds the class TensorFlowExt; expected"
                  + " tensorflow-ext-linux-x86_64.jar as it was built, whole",
              resource, TensorFlowExt.class.getProtectionDomain().getCodeSource().getLocation()));
    }
    return stream;
  }

  private static UnsatisfiedLinkError linkError(String what, IOException cause) {
    UnsatisfiedLinkError error = new UnsatisfiedLinkError(what + ": " + cause);
    error.initCause(cause);
    return error;
  }
}
