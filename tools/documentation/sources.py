"""Pages of the files of the repository that other pages link to.

docs/ links to source files by their paths in the repository, so the pages also work there. On the
site each such file has a page under source/.
"""

import pathlib
import posixpath
import re
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
_DOCS = "docs"
_LINK = re.compile(r"(?P<open>\]\()(?P<target>[^)\s]+)(?P<close>\))")
_CODE = re.compile(r"^ *(```|~~~).*?^ *\1[^\S\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LANGUAGES = {
    ".bzl": "python",
    ".c": "c",
    ".cc": "cpp",
    ".cu": "cpp",
    ".go": "go",
    ".h": "cpp",
    ".py": "python",
    ".rs": "rust",
    ".sh": "bash",
    ".txt": "text",
    ".toml": "toml",
    ".yml": "yaml",
}
# Hidden from the search, and without menus beside the code.
_FRONT = "---\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n"


def pages(written: dict[str, str]) -> dict[str, str]:
    """The pages of the sources that these pages, and those sources, link to.

    Args:
      written: Markdown by its name in docs/.
    """
    made: dict[str, str] = {}
    pending = dict(written)
    while pending:
        name, markdown = pending.popitem()
        for target in _targets(markdown, name):
            page = _page_of(target)
            if page in made or page in written or target.startswith(f"{_DOCS}/"):
                continue
            path = ROOT / target
            if not path.exists():
                continue  # MkDocs reports it.
            made[page] = _content(path)
            if path.suffix == ".md" or page.endswith("README.md"):
                pending[page] = made[page]
    return made


def rewrite(markdown: str, name: str) -> str:
    """The page `name` with links to sources leading to the sources' pages."""

    def replace(match: re.Match[str]) -> str:
        target, _, anchor = match["target"].partition("#")
        path = _resolve(target, name)
        if path is None or not (ROOT / path).exists():
            return match[0]
        if path == _DOCS:
            page = "index.md"
        elif path.startswith(f"{_DOCS}/"):
            if not name.startswith("source/"):
                return match[0]
            page = path.removeprefix(f"{_DOCS}/")
        else:
            page = _page_of(path)
        relative = posixpath.relpath(page, posixpath.dirname(name))
        # Sources have no headings.
        anchor = f"#{anchor}" if anchor and path.endswith(".md") else ""
        return f"{match['open']}{relative}{anchor}{match['close']}"

    return _outside_code(markdown, lambda text: _LINK.sub(replace, text))


def _targets(markdown: str, name: str) -> list[str]:
    """The paths in the repository that a page links to."""
    found: list[str] = []

    def collect(text: str) -> str:
        for match in _LINK.finditer(text):
            path = _resolve(match["target"].partition("#")[0], name)
            if path is not None:
                found.append(path)
        return text

    _outside_code(markdown, collect)
    return found


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Changes the text that is neither in a code block nor in inline code."""
    parts, end = [], 0
    for code in _CODE.finditer(markdown):
        # The text of a link may be code.
        parts += [change(markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(markdown[end:])])


def _resolve(target: str, name: str) -> str | None:
    """The path in the repository that a link of the page `name` means."""
    if not target or ":" in target or target.startswith("/"):
        return None
    if name.startswith("source/"):
        folder = posixpath.dirname(name.removeprefix("source/"))
    else:
        folder = posixpath.join(_DOCS, posixpath.dirname(name))
    path = posixpath.normpath(posixpath.join(folder, target))
    return None if path.startswith("..") else path


def _page_of(path: str) -> str:
    """The name of a source's page."""
    if (ROOT / path).is_dir():
        has_readme = (ROOT / path / "README.md").is_file()
        return f"source/{path}/{'README' if has_readme else 'index'}.md"
    # MkDocs skips names that begin with a dot.
    path = re.sub(r"(^|/)\.", r"\1dot-", path)
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def _content(path: pathlib.Path) -> str:
    relative = path.relative_to(ROOT)
    if path.is_dir():
        if (path / "README.md").is_file():
            return _content(path / "README.md")
        listed = "\n".join(
            f"- `{child.name}{'/' * child.is_dir()}`"
            for child in sorted(path.iterdir())
            if not child.name.startswith((".", "__"))
        )
        return f"{_FRONT}# {relative}\n\n{listed}\n"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return f"---\nsearch:\n  boost: 0.5\n---\n{text}"
    fence = "````"
    language = _LANGUAGES.get(path.suffix, "python" if path.name == "BUILD" else "text")
    return f"{_FRONT}# {relative}\n\n{fence}{language}\n{text}\n{fence}\n"
