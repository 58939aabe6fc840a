"""A tf.distribute.Server: it runs what clients in any language place on it.

Run it on every machine, with a TF_CONFIG that differs in the task alone:

    TF_CONFIG='{"cluster": {"worker": ["a:2222", "b:2222"]},
                "task": {"type": "worker", "index": 0}}' python server.py

It serves until it is ended.
"""

import argparse

import tensorflow as tf

# A server runs the ops that its own process knows, so it needs this import, too.
import tensorflow_ext  # noqa: F401


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Serves as the resolver's task until the process is ended."""
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    )
    print("serving", flush=True)
    server.join()


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    serve(tf.distribute.cluster_resolver.TFConfigClusterResolver())
