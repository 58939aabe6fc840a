"""Checks that every task of a cluster knows the ops.

An op runs in the process of the task where it is placed, and each process loads its own
libraries. `check_cluster` asks all tasks before training begins:

    import tensorflow as tf
    import tensorflow_ext as tfe

    strategy = tf.distribute.ParameterServerStrategy(resolver)
    tfe.distribute.check_cluster(strategy)
"""

import concurrent.futures
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tensorflow_ext import _op_libraries, _version, raw_ops
from tensorflow_ext._explain import _node
from tensorflow_ext._runtime import _library

__all__ = ["check_cluster"]

_ASKING = "TfExt>DescribeTask"
# The number of ops that an error lists; it counts the others.
_LISTED = 3


class _Task(NamedTuple):
    job: str
    number: int
    address: str

    @property
    def name(self) -> str:
        return f"/job:{self.job}/task:{self.number}"


class _Answer(NamedTuple):
    """The version of the library that a task has loaded, and the ops it does not know."""

    version: str
    unknown: list[str]


def check_cluster(cluster: Any = None, *, timeout: float = 60.0) -> dict[str, str]:
    """Asks every task of a cluster whether it knows the ops of this process.

    These are the ops of TensorFlow, of this library, and of libraries loaded by
    `load_op_library` and `tf.load_op_library`. Without this check, a task that has not
    loaded a library fails with TensorFlow's "Op type not registered" when it first
    receives such an op. Call it where training starts, after the strategy is made: in
    ParameterServerStrategy's coordinator, in each worker of
    MultiWorkerMirroredStrategy, or in a client of tf.distribute.Server.

    Args:
      cluster: A tf.distribute.Strategy, a ClusterResolver of
        tf.distribute.cluster_resolver, or anything that tf.train.ClusterSpec takes, such
        as {"worker": ["host:port", "host:port"]}. None means the current strategy. A
        strategy on one machine has no tasks to ask.
      timeout: Seconds within which a task must answer. All tasks are asked at once.

    Returns:
      The version of the library that each task except this process has loaded, by the
      task's name, such as "/job:worker/task:1".

    Raises:
      RuntimeError: Some tasks have not loaded this library or another one, have loaded
        another version of it, or do not answer. For each such task, the message names an
        op that it lacks and the call that loads it.
    """
    tasks = list(_tasks(cluster))
    if not tasks:
        return {}
    ops = _node.registered_ops()
    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
        answers = list(pool.map(lambda task: _ask(task, ops, timeout), tasks))
    faults, versions = [], {}
    for task, answer in zip(tasks, answers, strict=True):
        if isinstance(answer, _Answer) and not (fault := _fault(answer)):
            versions[task.name] = answer.version.split()[1]
            continue
        if isinstance(answer, tf.errors.OpError):
            fault = _failure(answer, ops, timeout)
        faults.append(f"\n  {task.name} ({task.address}) {fault}")
    if faults:
        raise RuntimeError("Not every task of the cluster is ready:" + "".join(faults))
    return versions


def _tasks(cluster: Any) -> Iterator[_Task]:
    """The tasks to ask: all except this process and the evaluator, which runs separately."""
    if cluster is None:
        cluster = tf.distribute.get_strategy()
    if isinstance(cluster, tf.distribute.Strategy):
        cluster = cluster.cluster_resolver
        if cluster is None:
            return
    own = None
    if isinstance(cluster, tf.distribute.cluster_resolver.ClusterResolver):
        own = cluster.task_type, cluster.task_id
        cluster = cluster.cluster_spec()
    spec = tf.train.ClusterSpec(cluster)
    for job in spec.jobs:
        for index in spec.task_indices(job):
            if job != "evaluator" and (job, index) != own:
                yield _Task(job, index, spec.task_address(job, index))


def _ask(task: _Task, ops: Sequence[str], timeout: float) -> _Answer | tf.errors.OpError:
    config = tf.compat.v1.ConfigProto(
        # Do not wait for other tasks, which may not answer.
        device_filters=[task.name],
        operation_timeout_in_ms=max(1, int(timeout * 1000)),
    )
    with tf.Graph().as_default():
        with tf.device(f"{task.name}/device:CPU:0"):
            described = raw_ops.describe_task(ops)
        try:
            target = f"grpc://{task.address}"
            with tf.compat.v1.Session(target, config=config) as session:
                version, unknown = session.run(described)
        except tf.errors.OpError as error:
            return error
    return _Answer(version.decode(), [op.decode() for op in unknown])


def _fault(answer: _Answer) -> str:
    """The fault in a task's libraries and its fix; empty if there is none."""
    version, built_for = _version.read_stamp(_library.PATH)
    own = f"tensorflow_ext {version} for TensorFlow {built_for}"
    if answer.version != own:
        return (
            f"has loaded {answer.version}, and this process {own}: install the same "
            "version on all machines."
        )
    lacking: dict[str, list[str]] = {}
    for op in answer.unknown:
        lacking.setdefault(_call_for(op), []).append(op)
    return " It ".join(_lack(ops, call) for call, ops in lacking.items())


def _failure(error: tf.errors.OpError, ops: Sequence[str], timeout: float) -> str:
    """The reason why a task has not answered, and the fix."""
    if isinstance(error, tf.errors.NotFoundError) and _ASKING in error.message:
        own = [op for op in ops if op in raw_ops.OPS.values()]
        return _lack(own, "import tensorflow_ext")
    if isinstance(error, tf.errors.DeadlineExceededError):
        return f"did not answer within {timeout:g} s: is its process running?"
    return f"did not answer: {error.message}"


def _lack(ops: Sequence[str], call: str) -> str:
    listed = ", ".join(ops[:_LISTED])
    if len(ops) > _LISTED:
        listed += f" and {len(ops) - _LISTED} more"
    plural = "s" if len(ops) > 1 else ""
    return (
        f"does not know the op{plural} {listed}: run `{call}` in every process of the "
        "cluster, before it makes its strategy or tf.distribute.Server."
    )


def _call_for(op: str) -> str:
    """The call that has loaded an op of another library into this process."""
    if file := _op_libraries.FILES.get(op):
        return f"tensorflow_ext.load_op_library({file!r})"
    if op.startswith("Addons>"):
        return "import tensorflow_ext.addons"
    return "tf.load_op_library(FILE)"
