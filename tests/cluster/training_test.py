"""A cluster trains as one process does, even if parts of it are killed."""

import argparse
import functools
import re

import forked
import launch
import loopback
import numpy as np
import pytest
import sampling
from launch import Kill
from loopback import Loopback, Task

LIMIT = 240.0  # seconds; on a quiet machine each test takes a tenth of it
OPTIONS = argparse.Namespace(steps=8, batch=16, every=3, limit=LIMIT)


@functools.cache
def alone() -> list[float]:
    return launch.train_alone(OPTIONS)


@pytest.fixture(autouse=True)
def fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "new_process", forked.Process)


def train(strategy: str, workers: int, kills: list[Kill], repeated: int) -> None:
    """Continues from the backup after step 2 if a task is killed."""
    run = launch.train(strategy, workers, OPTIONS, kills)
    np.testing.assert_allclose(run.losses, alone(), rtol=0, atol=1e-5)
    assert run.repeated >= repeated
    if kills and strategy == "multi-worker":  # The other workers end, too.
        assert run.restarts[kills[0].task] >= 1
    else:
        assert run.restarts == {kill.task: 1 for kill in kills}


# Each commit runs one row of each table, the release check all.
@pytest.mark.parametrize(
    ("workers", "kills", "repeated"),
    # If a worker is killed, the others end too; they repeat steps 3 and 4.
    sampling.of_commit("multi-worker", [(4, [], 0), (2, [Kill(Task("worker", 1), 4)], 2)]),
)
def test_multi_worker(workers: int, kills: list[Kill], repeated: int) -> None:
    train("multi-worker", workers, kills, repeated)


@pytest.mark.parametrize(
    ("kill", "repeated"),
    # The other worker does a killed worker's part. The coordinator repeats steps 3 to 5.
    sampling.of_commit(
        "parameter-server", [(Kill(Task("worker", 0), 3), 0), (Kill(Task("chief", 0), 5), 3)]
    ),
)
def test_parameter_server(kill: Kill, repeated: int) -> None:
    train("parameter-server", 2, [kill], repeated)


# One worker asks the others, one of which has not loaded the library.
PARTLY_LOADED = """
import json, os, time
import tensorflow as tf

index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
if index == 0:
    import tensorflow_ext as tfe
strategy = tf.distribute.MultiWorkerMirroredStrategy()
if index == 0:
    try:
        tfe.distribute.check_cluster(strategy)
    except RuntimeError as error:
        print(str(error).replace("\\n", " "))
else:
    time.sleep(600)  # until it is ended
"""


def test_worker_without_the_library() -> None:
    asking = Task("worker", 0)
    with Loopback(["-c", PARTLY_LOADED], {"worker": 2}, LIMIT) as cluster:
        written = [line for task, line in cluster.lines([asking]) if task == asking]
    (message,) = [line for line in written if "Not every task" in line]
    assert re.search(
        r"/job:worker/task:1 \S+ does not know the ops TfExt>.*"
        "run `import tensorflow_ext` in every process of the cluster",
        message,
    )
