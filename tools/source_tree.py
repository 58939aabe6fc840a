# SPDX-License-Identifier: Apache-2.0
"""The source tree with changes that are not on disk yet."""

import pathlib


class MissingFileError(Exception):
    """A required file is missing; the message names it."""


class Tree:
    """Files by path below a root, with pending changes.

    Args:
      root: The folder of the files.
      changes: Contents that replace the files on disk; None removes a file.
    """

    def __init__(self, root: pathlib.Path, changes: dict[str, str | None] | None = None) -> None:
        self.root = root
        self._changes = dict(changes or {})

    def exists(self, path: str) -> bool:
        if path in self._changes:
            return self._changes[path] is not None
        return (self.root / path).is_file()

    def read(self, path: str) -> str:
        """The text of a file.

        Raises:
          MissingFileError: There is no such file.
        """
        changed = self._changes.get(path)
        if changed is not None:
            return changed
        if path in self._changes or not (self.root / path).is_file():
            raise MissingFileError(f"there is no file {path}")
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        self._changes[path] = text

    def remove(self, path: str) -> None:
        self._changes[path] = None

    def files(self, folder: str, *suffixes: str) -> list[str]:
        """The files below a folder whose names have one of these suffixes, sorted."""
        found = {
            path.relative_to(self.root).as_posix()
            for path in (self.root / folder).rglob("*")
            if path.is_file()
        }
        prefix = f"{folder}/"
        found |= {path for path in self._changes if path.startswith(prefix)}
        return sorted(path for path in found if path.endswith(suffixes) and self.exists(path))

    def changes(self) -> dict[str, str | None]:
        """The differences from the disk."""
        on_disk = Tree(self.root)
        return {
            path: text
            for path, text in sorted(self._changes.items())
            if text != (on_disk.read(path) if on_disk.exists(path) else None)
        }

    def commit(self) -> None:
        """Writes all changes to the disk; removes folders that become empty."""
        for path, text in self.changes().items():
            on_disk = self.root / path
            if text is not None:
                on_disk.parent.mkdir(parents=True, exist_ok=True)
                on_disk.write_text(text, encoding="utf-8")
                continue
            on_disk.unlink()
            for folder in on_disk.parents:
                if folder == self.root or any(folder.iterdir()):
                    break
                folder.rmdir()
