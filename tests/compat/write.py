"""Writes the files that later versions must load, as tests/compat/VERSION.zip.

Run it once, when a version is made: the files of a version never change. Run it in a checkout of
that version, built by `./run build //bindings/c:client`:

    .venv/bin/python tests/compat/write.py tests/compat

If an older commit has no such script, this one writes its files with its package:

    PYTHONPATH=OLD_CHECKOUT/python .venv/bin/python tests/compat/write.py FOLDER

All numbers come from formulas, so two runs write the same files.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import zipfile

sys.path.append(str(pathlib.Path(__file__).absolute().parents[1] / "clients/python"))

import case_files
import graph_defs
import numpy as np
import old_models
import reading
import references
import tensorflow as tf
from cases import Case
from tensorflow.core.framework import graph_pb2

import tensorflow_ext as tfe

_FEW, _MANY = 6, 400  # elements


def _preference(case: Case) -> tuple[bool, int, bool, int]:
    """A small array of random numbers; the listed arguments have special values."""
    size = sum(array.size for array in case.make_inputs(case.types[0]))
    listed = sum(given.values.kind == "values" for given in case.inputs)
    return size > _MANY, listed, size < _FEW, size


def _says_something(case: Case) -> bool:
    output = references.Reference(case, "float").outputs[0]
    return bool(np.isfinite(output).all() and output.any())


def _cases() -> list[Case]:
    """A small case of every op that computes something."""
    of_ops: dict[str, list[Case]] = {}
    for case in case_files.read_all():
        if not case.error and "float" in case.types:
            of_ops.setdefault(case.op, []).append(case)
    return [
        next(filter(_says_something, sorted(some, key=_preference))) for some in of_ops.values()
    ]


def _write_frozen(folder: pathlib.Path) -> None:
    """Each case and its gradients, as TF_AddGradients adds them, in one graph."""
    whole = graph_pb2.GraphDef()
    written, feeds = {}, {}
    client = reading.client()
    for case in _cases():
        made = graph_defs.CaseGraph(references.make_problem(case, "float"))
        client.import_graph(made.graph_def.SerializeToString())
        pairs = [pair for pair in zip(made.outputs, made.upstreams, strict=True) if all(pair)]
        ys, dys = ([pair[i] for pair in pairs] for i in range(2))
        used = graph_defs.ancestors(made.graph_def, ys)
        xs = [x for x in made.inputs if x and x.partition(":")[0] in used]
        gradients = client.add_gradients(ys, xs, dys) if ys else []
        there = [(x, dx) for x, dx in zip(xs, gradients, strict=bool(ys)) if dx]
        graph = graph_pb2.GraphDef.FromString(client.export_graph())
        scope = case.op.partition(">")[2]
        for node in graph.node:
            node.name = f"{scope}/{node.name}"
            for i, name in enumerate(node.input):
                control = "^" * name.startswith("^")
                node.input[i] = f"{control}{scope}/{name.removeprefix('^')}"
        whole.node.extend(graph.node)
        whole.versions.CopyFrom(graph.versions)
        feeds |= {f"{scope}/{name}": array for name, array in made.feeds.items()}
        written[case.op] = {
            kind: [f"{scope}/{name}" for name in names]
            for kind, names in {
                "outputs": made.outputs,
                "differentiated": ys,
                "upstreams": dys,
                "inputs": [x for x, _ in there],
                "gradients": [dx for _, dx in there],
            }.items()
        }
    assert client.close() == 0
    (folder / "frozen.pb").write_bytes(whole.SerializeToString(deterministic=True))
    (folder / "frozen.json").write_text(json.dumps(written))
    np.savez(folder / "feeds.npz", **feeds)


def write(folder: pathlib.Path) -> None:
    """Writes the files into a folder, and the numbers that reading.READERS give for them."""
    tf.keras.utils.set_random_seed(0)
    module, model = old_models.Module(), old_models.keras_model()
    old_models.fill(model)
    tf.saved_model.save(
        module, str(folder / "module"), {"predict": module.predict, "custom": module.custom}
    )
    model.export(str(folder / "exported"), verbose=False)
    model.save(folder / "model.keras")
    model.save_weights(folder / "model.weights.h5")
    tf.train.Checkpoint(module=module, model=model).write(str(folder / "checkpoint"))
    _write_frozen(folder)
    numbers = {
        f"{name}: {what}": value
        for name, read in reading.READERS.items()
        for what, value in read(folder).items()
    }
    np.savez(folder / "numbers.npz", **numbers)


def pack(folder: pathlib.Path, file: pathlib.Path) -> None:
    """The folder as a zip file; equal folders give equal files."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = path.relative_to(folder).as_posix()
                packed.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where VERSION.zip goes")
    file = parser.parse_args().folder / f"{tfe.__version__}.zip"
    if file.exists():
        parser.error(f"{file} is there: what a version wrote stays as it is")
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder))
        pack(pathlib.Path(folder), file)
    print(f"{file}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
