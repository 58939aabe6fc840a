"""The programs of users that acceptance.py runs, in Python, C and C++."""

METADATA = """
import importlib.metadata, pathlib
found = importlib.metadata.distribution("tensorflow_ext")
files = [pathlib.Path(found.locate_file(file)) for file in found.files]
assert all(file.is_file() for file in files), files
names = {"/".join(file.parts) for file in found.files}
assert "tensorflow_ext/py.typed" in names
assert any(name.endswith("licenses/LICENSE") for name in names)
assert any(name.endswith("licenses/THIRD_PARTY_NOTICES.txt") for name in names)
assert not any("/tests/" in name or name.endswith("BUILD") for name in names), names
needed = [line for line in found.requires if "extra ==" not in line]
assert [line.partition(">")[0] for line in needed] == ["numpy"], needed
assert {"tensorflow", "tensorflow-cpu"} <= set(found.metadata.get_all("Provides-Extra"))
import tensorflow_ext
assert found.version == tensorflow_ext.__version__
assert pathlib.Path(tensorflow_ext.__file__) in files
"""

# Upstream gradients other than ones; second order, too.
GRADIENTS = """
import tensorflow as tf
import tensorflow_ext as tfe
x = tf.constant([-1.5, 0.25, 2.0])
dy = tf.constant([0.5, -2.0, 3.0])

def first(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tfe.mish(x)
    return tape.gradient(y, x, dy)

def second(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        dx = first(x)
    return tape.gradient(dx, x)

def by_differences(function, step=1e-2):
    return (function(x + step) - function(x - step)) / (2 * step)

for compiled in (False, True):
    eager, traced = first(x), tf.function(first, jit_compile=compiled)(x)
    tf.debugging.assert_near(eager, by_differences(tfe.mish) * dy, 1e-3, 1e-3)
    tf.debugging.assert_near(eager, traced, 1e-5, 1e-5)
tf.debugging.assert_near(second(x), by_differences(first), 1e-3, 1e-3)

# A gradient that this library gives an op of TensorFlow, from C++ to Python.
assert tfe.gradients.function_def("Erfc", T=tf.float32).signature.input_arg
"""

KERAS = """
import keras, numpy as np, tensorflow_ext as tfe
keras.utils.set_random_seed(1)
model = keras.Sequential([
    keras.Input((4,)),
    keras.layers.Dense(8, activation=tfe.mish),
    tfe.layers.RmsNormalization(),
    keras.layers.Dense(1),
])
model.compile("sgd", "mse", jit_compile=False)
x = np.random.rand(64, 4).astype("float32")
losses = model.fit(x, x.sum(1), epochs=5, verbose=0).history["loss"]
assert losses[-1] < losses[0] * 0.7, losses
model.save("model.keras")
again = keras.models.load_model("model.keras")
np.testing.assert_array_equal(model(x), again(x))
print("fine")
"""

CONFIG = """
import contextlib, io, pathlib, re, sys
import tensorflow as tf
from tensorflow_ext import __main__, _compatibility
from tensorflow_ext_codegen import config_texts
folder = pathlib.Path(sys.argv[1]).resolve()
prefix = pathlib.Path(sys.prefix).resolve()
homes = [folder, prefix, pathlib.Path(tf.__file__).resolve().parent]
for kind in config_texts.KINDS:
    if kind == "java" and _compatibility.java_release() is None:
        continue
    texts = []
    for arguments in ([], ["--write", str(folder / f"of {kind}")]):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = __main__.main(["config", f"--{kind}", *arguments])
        assert status == 0, printed.getvalue()
        texts.append(printed.getvalue())
    texts += [
        path.read_text() for path in (folder / f"of {kind}").rglob("*")
        if path.is_file()
    ]
    text = "\\n".join(texts)
    assert "tensorflow" in text
    paths = re.findall(r"(?<![\\w./<])/[\\w.+/-]*tensorflow[\\w.+/-]*", text)
    assert paths or kind in ("java",), text
    for path in map(pathlib.Path, paths):
        assert path.exists(), (kind, path, text)
        assert any(path.resolve().is_relative_to(home) for home in homes), (kind, path)
print("fine")
"""

# Finds the package without importing it, which takes seconds.
TENSORFLOW = """
import importlib.metadata, pathlib, sysconfig
for name in ("tensorflow", "tensorflow-cpu"):
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        continue
print(version, sysconfig.get_path("purelib"))
"""

FLAGS = r"""
from tensorflow_ext import sysconfig
print(*sysconfig.get_compile_flags(op_library=True), sep="\0")
print(*sysconfig.get_link_flags(op_library=True), sep="\0", end="")
"""

LOAD_OP_LIBRARY = """
import sys, tensorflow as tf, tensorflow_ext as tfe
cube = tfe.load_op_library(sys.argv[1]).user_cube
x = tf.constant([-1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = cube(x)
assert tape.gradient(y, x, tf.constant([0.5, -2.0])).numpy().tolist() == [1.5, -24]
print("fine")
"""

C_CLIENT = r"""
#include <stdio.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

#define CHECK(call)                            \
  call;                                        \
  if (TF_GetCode(status) != TF_OK) {           \
    fprintf(stderr, "%s\n", TF_Message(status)); \
    return 1;                                  \
  }

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  TF_Status* status = TF_NewStatus();
  CHECK(TF_LoadLibrary(argv[1], status));
  TF_Graph* graph = TF_NewGraph();
  TF_OperationDescription* made = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(made, "dtype", TF_FLOAT);
  CHECK(TF_Output x = {TF_FinishOperation(made, status)});
  made = TF_NewOperation(graph, "TfExt>Relu", "y");
  TF_AddInput(made, x);
  CHECK(TF_Output y = {TF_FinishOperation(made, status)});
  TF_Output dx;
  CHECK(TF_AddGradients(graph, &y, 1, &x, 1, NULL, status, &dx));
  TF_SessionOptions* options = TF_NewSessionOptions();
  CHECK(TF_Session* session = TF_NewSession(graph, options, status));
  const int64_t shape[] = {2};
  TF_Tensor* input = TF_AllocateTensor(TF_FLOAT, shape, 1, 2 * sizeof(float));
  memcpy(TF_TensorData(input), (const float[]){-1, 2}, 2 * sizeof(float));
  TF_Tensor* output;
  CHECK(TF_SessionRun(session, NULL, &x, &input, 1, &dx, &output, 1, NULL, 0,
                      NULL, status));
  const float* values = TF_TensorData(output);
  printf("[%g, %g]\n", values[0], values[1]);
  return 0;
}
"""

OP_LIBRARY = """
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

REGISTER_OP("User>Cube")
    .Input("x: float")
    .Output("y: float")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

namespace user {

class CubeOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const tensorflow::Tensor& x = context->input(0);
    tensorflow::Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    const float* from = x.flat<float>().data();
    float* to = y->flat<float>().data();
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      to[i] = from[i] * from[i] * from[i];
    }
  }
};
REGISTER_KERNEL_BUILDER(Name("User>Cube").Device(tensorflow::DEVICE_CPU), CubeOp);

void CubeGrad(tensorflow_ext::Gradient& g) {
  const tensorflow_ext::Value x = g.Input(0), dy = g.Upstream();
  g.Return({dy * (3.0 * Square(x))});
}
TFEXT_REGISTER_GRADIENT("User>Cube", CubeGrad);

}  // namespace user
"""
