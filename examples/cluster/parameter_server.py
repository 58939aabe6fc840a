"""One task of a ParameterServerStrategy: a server, or the coordinator of all.

Run it on every machine, with a TF_CONFIG that differs in the task alone:

    TF_CONFIG='{"cluster": {"chief": ["a:2222"], "worker": ["b:2222", "c:2222"],
                "ps": ["d:2222"]}, "task": {"type": "chief", "index": 0}}' \\
      python parameter_server.py

The chief is the coordinator; the parameter server holds the variables, the workers
compute the gradients of a part of each batch. If a worker ends, the others take its
part; started again, it joins them. If the coordinator ends, it goes on from the last
backup when it is started again.
"""

import argparse

import arguments
import server
import tensorflow as tf
import training

import tensorflow_ext as tfe


def coordinate(
    resolver: tf.distribute.cluster_resolver.ClusterResolver, options: argparse.Namespace
) -> None:
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    tfe.distribute.check_cluster(strategy)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    workers = len(resolver.cluster_spec().task_indices("worker"))
    data = training.make_data(options.steps, options.batch)
    with strategy.scope():
        network = training.make_network()
        backup = training.Backup(options.backup, network)
    first = backup.restore()

    @tf.function
    def differentiate(x: tf.Tensor, label: tf.Tensor, domain: tf.Tensor) -> tuple:
        return strategy.run(network.differentiate, ((x, (label, domain)),))

    def apply(parts: list) -> None:
        means = [tf.add_n(part) / len(part) for part in zip(*parts, strict=True)]
        network.optimizer.apply(means, network.trainable_variables)

    @tf.function
    def update(parts: list) -> None:
        strategy.run(apply, (parts,))

    # Waiting for all parts of a batch gives the same training as one process. Without it, workers
    # do not wait for each other, and gradients are for older weights.
    for step in range(first, options.steps):
        parts = [
            coordinator.schedule(differentiate, args=part)
            for part in training.split(data, step, workers)
        ]
        losses, gradients = zip(*(part.fetch() for part in parts), strict=True)
        coordinator.schedule(update, args=(list(gradients),))
        coordinator.join()
        training.report(step, sum(losses) / workers, options.pause)
        if (step + 1) % options.every == 0:
            backup.save(step + 1)


def main() -> None:
    options = arguments.options(__doc__)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type == "chief":
        coordinate(resolver, options)
    else:
        server.serve(resolver)


if __name__ == "__main__":
    main()
