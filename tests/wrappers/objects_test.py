# SPDX-License-Identifier: Apache-2.0
"""The optimizers, schedules and initializers of each language write the JSON that Python writes."""

import json
import os
import subprocess
from typing import Any

import keras
import pytest
from objects import Object, all_objects

from tensorflow_ext_codegen import optimizers

_PROGRAMS = dict(pair.split("=") for pair in os.environ["PROGRAMS"].split())
_OBJECTS = all_objects()


@pytest.mark.parametrize("language", _PROGRAMS)
def test_json_is_that_of_the_table(language: str) -> None:
    printed = subprocess.check_output([_PROGRAMS[language]], text=True).splitlines()
    assert [json.loads(line) for line in printed] == [made.json() for made in _OBJECTS]


def _in_keras(made: Object) -> Any:
    """The object of Keras, which admits only one kind of clipping."""
    for module in (keras.optimizers, keras.optimizers.schedules, keras.initializers):
        if found := getattr(module, made.made.name, None):
            break
    return found(
        **{
            field.name: _in_keras(value) if isinstance(value, Object) else value
            for field, value in made.values
            if not field.is_own and field.name not in ("clipvalue", "global_clipnorm")
        }
    )


@pytest.mark.parametrize("made", _OBJECTS, ids=lambda made: made.made.name)
def test_json_is_that_of_keras(made: Object) -> None:
    theirs = keras.saving.serialize_keras_object(_in_keras(made))
    _compare(made, theirs)


def _compare(made: Object, theirs: Any) -> None:
    assert theirs["class_name"] == made.made.name
    for field, value in made.values:
        if field.is_own or field.name in ("clipvalue", "global_clipnorm"):
            continue
        found = theirs["config"][field.name]
        if field.kind in (optimizers.RATE, optimizers.OPTIMIZER) and isinstance(value, Object):
            _compare(value, found)
        elif (made.made.name, field.name) != ("Identity", "gain"):  # Keras forgets it.
            assert found == pytest.approx(value), field.name
