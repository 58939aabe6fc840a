"""A cluster trains as one process does, even if parts of it are killed."""

import argparse
import functools
import re

import launch
import numpy as np
from launch import Kill
from loopback import Loopback, Task

LIMIT = 240.0  # seconds; on a quiet machine each test takes a tenth of it
OPTIONS = argparse.Namespace(steps=8, batch=16, every=3, limit=LIMIT)


@functools.cache
def alone() -> list[float]:
    return launch.train_alone(OPTIONS)


def check_losses(run: launch.Run) -> None:
    np.testing.assert_allclose(run.losses, alone(), rtol=0, atol=1e-5)


def test_multi_worker_of_four() -> None:
    run = launch.train("multi-worker", 4, OPTIONS)
    check_losses(run)
    assert not run.restarts


def test_multi_worker_is_killed() -> None:
    """The other workers end too; all continue from the backup after step 2."""
    killed = Kill(Task("worker", 1), 4)
    run = launch.train("multi-worker", 2, OPTIONS, [killed])
    check_losses(run)
    assert run.restarts[killed.task] >= 1
    assert run.repeated >= 2  # steps 3 and 4


def test_parameter_server_is_killed() -> None:
    """The other worker does a killed worker's part. Then the coordinator is killed, and continues
    from the backup after step 2 once both workers are there.
    """
    kills = [Kill(Task("worker", 0), 3), Kill(Task("chief", 0), 5)]
    run = launch.train("parameter-server", 2, OPTIONS, kills)
    check_losses(run)
    assert run.restarts == {kill.task: 1 for kill in kills}
    assert run.repeated >= 3  # steps 3 to 5


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
