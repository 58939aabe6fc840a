"""One worker of a MultiWorkerMirroredStrategy: each trains on its part of every batch.

Run it on every machine, with a TF_CONFIG that differs in the index alone:

    TF_CONFIG='{"cluster": {"worker": ["a:2222", "b:2222"]},
                "task": {"type": "worker", "index": 0}}' python multi_worker.py

If a worker ends, the others do, with an error; start all that have ended again, and
they go on from the last backup.
"""

import arguments
import tensorflow as tf
import training

import tensorflow_ext as tfe


def main() -> None:
    options = arguments.options(__doc__)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    tfe.distribute.check_cluster(strategy)
    data = training.make_data(options.steps, options.batch)
    with strategy.scope():
        network = training.make_network()
        backup = training.Backup(options.backup, network, writes=arguments.task() == ("worker", 0))
    first = backup.restore()

    @tf.function
    def train_step(batch: tuple) -> tf.Tensor:
        logs = strategy.run(network.train_step, (batch,))
        return strategy.reduce("MEAN", logs["loss"], axis=None)

    # Each worker takes its part of these whole batches.
    arrays = data.x[first:], (data.label[first:], data.domain[first:])
    dataset = tf.data.Dataset.from_tensor_slices(arrays)
    batches = strategy.experimental_distribute_dataset(dataset)
    for step, batch in enumerate(batches, first):
        training.report(step, train_step(batch), options.pause)
        if (step + 1) % options.every == 0:
            backup.save(step + 1)


if __name__ == "__main__":
    main()
