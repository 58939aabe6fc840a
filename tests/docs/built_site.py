"""The documentation site, built and served to tests, and its contents."""

import contextlib
import functools
import html.parser
import http.server
import os
import pathlib
import posixpath
import sys
import threading
import urllib.parse
from collections.abc import Iterator

import commands

import tensorflow_ext as tfe

# Under Bazel this file is a link into the source tree.
ROOT = pathlib.Path(__file__).resolve().parents[2]


def build(folder: pathlib.Path) -> None:
    """Builds the site; a warning is an error (mkdocs.yml)."""
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONPATH": str(pathlib.Path(tfe.__file__).absolute().parents[1]),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", folder]
    commands.run(*command, cwd=ROOT, env=environment)


def pages(folder: pathlib.Path) -> list[str]:
    """The addresses of all pages, relative to the site's root."""
    found = (path.parent.relative_to(folder) for path in folder.rglob("index.html"))
    return sorted("" if str(page) == "." else f"{page}/" for page in found)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Does not log requests."""


@contextlib.contextmanager
def served(folder: pathlib.Path) -> Iterator[str]:
    """Serves a folder on this machine; returns its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class _Links(html.parser.HTMLParser):
    """The files that a page loads, the pages it links to, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.places.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.linked.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given.get("href", ""))
        elif "src" in given:
            self.loaded.append(given["src"])


def broken_links(folder: pathlib.Path) -> list[str]:
    """Broken links of all pages, and other hosts that a page loads from."""
    parsed = {page: _Links() for page in pages(folder)}
    for page, links in parsed.items():
        links.feed((folder / page / "index.html").read_text(encoding="utf-8"))
    broken = []
    for page, links in parsed.items():
        for target in links.loaded:
            if urllib.parse.urlsplit(target).netloc:
                broken.append(f"{page} asks for {target}")
        for target in [*links.loaded, *links.linked]:
            if not _is_there(folder, parsed, page, target):
                broken.append(f"{page} links to {target}")
    return broken


def _is_there(folder: pathlib.Path, parsed: dict[str, _Links], page: str, target: str) -> bool:
    address = urllib.parse.urlsplit(target)
    if address.scheme or address.netloc:
        return True  # Another host; nothing is loaded from it.
    path = posixpath.normpath(posixpath.join("/", page, address.path)).lstrip("/")
    place = urllib.parse.unquote(path)
    linked = parsed.get(f"{place}/" if place else "")
    if linked is None:
        return (folder / place).is_file()
    return not address.fragment or urllib.parse.unquote(address.fragment) in linked.places
