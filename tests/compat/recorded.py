"""The recorded names and definitions, by list: recorded.json.gz. record.py adds to it."""

import gzip
import json
import pathlib

_FILE = pathlib.Path(__file__).absolute().parent / "recorded.json.gz"


def read() -> dict[str, list[str]]:
    """The lines of each list."""
    return json.loads(gzip.decompress(_FILE.read_bytes()))


def write(lists: dict[str, list[str]]) -> None:
    """Replaces the file; equal lists give equal files."""
    text = json.dumps(lists, ensure_ascii=False, indent=0)
    _FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
