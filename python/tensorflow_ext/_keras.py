"""Registers functions and layers with Keras, under the package "tensorflow_ext".

Otherwise Keras saves `Dense(activation=tensorflow_ext.gelu)` by the function's bare
name, and loads its own gelu, which is another function.

This works for Keras 3 (`keras`) and Keras 2 (`tf_keras`), each when it is imported,
before or after this package.
"""

import importlib.abc
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_PACKAGE = "tensorflow_ext"

Functions = Mapping[str, Callable]


def register(functions: Functions) -> None:
    """Registers functions by name, and this package's layers, with Keras."""

    def with_keras_3(keras: ModuleType) -> None:
        _register_functions(keras, functions)
        if keras.backend.backend() == "tensorflow":
            importlib.import_module(f"{_PACKAGE}.layers")

    def with_keras_2(keras: ModuleType) -> None:
        _register_functions(keras, functions)

    _when_imported("keras", with_keras_3)
    _when_imported("tf_keras", with_keras_2)


def find_as(package: str, functions: Functions, layers: str) -> None:
    """Lets Keras find functions and layers of this package by their names in another
    package, unless these are taken. Keras saves them under their own names.

    Args:
      package: The other package.
      functions: The functions by their names in the other package.
      layers: A module of this package whose LAYERS are those of Keras 3, by their names
        in the other package.
    """

    def with_functions(keras: ModuleType) -> None:
        names = {f"{package}>{name}": functions[name] for name in functions}
        _add_missing(keras.saving.get_custom_objects(), names)
        _add_missing(_activations(keras), names)

    def with_keras_3(keras: ModuleType) -> None:
        with_functions(keras)
        if keras.backend.backend() == "tensorflow":
            found = importlib.import_module(f"{_PACKAGE}.{layers}").LAYERS
            names = {f"{package}>{name}": found[name] for name in found}
            _add_missing(keras.saving.get_custom_objects(), names)

    _when_imported("keras", with_keras_3)
    _when_imported("tf_keras", with_functions)


def _add_missing(objects: dict[str, Callable], names: Functions) -> None:
    for name in names:
        objects.setdefault(name, names[name])


def _activations(keras: ModuleType) -> dict[str, Callable]:
    """The table in which Keras 3 looks up activations given as a string. It does not
    search the registered objects for them.
    """
    found = keras.activations.get.__globals__.get("ALL_OBJECTS_DICT")
    return found if isinstance(found, dict) else {}


def _register_functions(keras: ModuleType, functions: Functions) -> None:
    for name, function in functions.items():
        keras.saving.register_keras_serializable(_PACKAGE, name)(function)
    _activations(keras).update({f"{_PACKAGE}>{name}": functions[name] for name in functions})


def _when_imported(name: str, then: Callable[[ModuleType], None]) -> None:
    """Calls `then` with a module: now if it is imported, else after its import."""
    module = sys.modules.get(name)
    if module is None:
        sys.meta_path.insert(0, _Finder(name, then))
    else:
        then(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a module with the other finders, and calls a function after its first import."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name or self not in sys.meta_path:
            return None
        # Ask the finders after this one. This finder stays until the module is imported,
        # because a caller may look for a module without importing it.
        behind = sys.meta_path[sys.meta_path.index(self) + 1 :]
        found = (
            finder.find_spec(fullname, path, target)
            for finder in behind
            if hasattr(finder, "find_spec")  # Python 3.11 has finders without it.
        )
        spec = next(filter(None, found), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_call(module: ModuleType) -> None:
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self._then(module)

            spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]
        return spec
