"""Finds phrases that are not plain English in comments, docstrings and Markdown.

`python3 tools/prose.py [FILE...]` checks these files, by default all that git tracks. A finding
reads `file:line: found -> what to write`.
"""

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]


def _not_after(*words: str) -> str:
    return "".join(rf"(?<!\b{word}\s)" for word in words)


# START is where a comment, a paragraph of it, a docstring or a list item starts.
START = "\0"
_BEFORE_AIM = ["aim", "goal", "idea", "job", "left", "point", "task", "there", "way"]
_QUESTION = r"(?![^.?]*\?)"
_VERB = r"(?:is|are|was|were|do|does|did|has|have|can|may|must|will)\b"
_IS_TO = r"(?!an?\b|be\s+found\b|each\b|it\b|its\b|one\b|that\b|the\b|their\b|this\b|what\b)[a-z]+"
PATTERNS = {
    rf"{START}(?:What(?!ever)|Whether)\b{_QUESTION}": "a noun phrase, or subject and verb",
    rf"{START}Of\b(?! course)": "the subject first",
    rf"(?:{START}|[.;:]\s+)(?:Who|Whoever)\b{_QUESTION}": "'If you ...', 'Anyone who ...'",
    rf"(?:{START}|[.;:]\s+)(?:[Ss]o|[Nn]or)\s+{_VERB}": "the subject before the verb",
    rf"\b(?=is\s|are\s){_not_after(*_BEFORE_AIM)}"
    rf"(?:is|are)\s+to\s+{_IS_TO}": "'must', 'has', 'will'",
    r"\bmend(?:s|ed|ing)?\b(?<!\.mend)(?!\()": "'fix'",
    r"\bfor\s+want\s+of\b": "'because there is no ...', 'skipped: no ... found'",
    rf"\b(?=of\s+wh){_not_after('all', 'both', 'each', 'most', 'none', 'one', 'some', 'two')}"
    r"of\s+wh(?:ich|om)\b": "two sentences",
    r"\bso\s+that\s+there\s+(?:is|are)\b": "'which leaves', 'so ... has'",
    r"\ball\s+(?:that\s+)?there\s+(?:is|are)\b": "'everything', 'all of them'",
    r"[,;]\s+be\s+it\b": "'either ... or'",
    r"[,;:]\s+for\s+(?:(?:he|she|they|there|we)\b|it\s+(?:is|has|can|may)\b)": "'because'",
    r"\b(?:where|there|here)(?:of|in|upon|with)\b": "'of it', 'in it'",
    r"\b(?:hitherto|lest|thither|whither|whosoever)\b": "a word in use",
    r"(?<!\bnot )\b[Bb]ut\s+for\s+(?!the\s+first\b)": "'except'",
    r"\b[Ee]ither\s+does\b": "'either works'",
    r"\b(?:stands?|lies?)\s+(?:alone|beside|here|once|there)\b": "'is'",
    r"\bl(?:eaves?|eft)\s+aside\b": "'skip', 'ignore'",
    r"\bcalled\s+so\b": "'have this name'",
    r"\b[Ll]ook(?:s|ed)?\s+whether\b": "'check whether'",
    r"\bof\s+(?:one's\s+own|ours|theirs|yours)\b": "'our', 'their', 'your'",
}
_RULES = [(re.compile(pattern), write) for pattern, write in PATTERNS.items()]

_STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_SLASHES = re.compile(rf'R"\((?s:.*?)\)"|{_STRING}|(//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*(?s:.*?)\*/)')
_HASH = r"#[^\n]*(?:\n[ \t]*#[^\n]*)*"
_HASHES = re.compile(rf'(^[ \t]*r?"""(?s:.*?)"""|{_HASH})|"""(?s:.*?)"""|{_STRING}', re.MULTILINE)
_SHELL = re.compile(rf"(?:^|(?<=\s))({_HASH})", re.MULTILINE)
_COMMENTS = dict.fromkeys([".c", ".cc", ".cuh", ".go", ".h", ".java", ".rs"], _SLASHES)
_COMMENTS |= {".py": _HASHES, ".bzl": _HASHES, "BUILD": _HASHES, ".sh": _SHELL, "run": _SHELL}
_MARKS = re.compile(r'^[ \t]*(?://[/!]?|/?\*+(?!/)|#+!?|r?""")[ \t]?|(?:\*/|""")', re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*(```+|~~~+)(?s:.*?)^[ \t]*\1|^(?: {4}|\t).*$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_ITEM = re.compile(r"^[ \t]*(?:[-*]|\d+\.)[ \t]+", re.MULTILINE)
_PARAGRAPH = re.compile(r"\A|(?<=\n\n)[ \t]*(?=\S)")


def _prose(path: pathlib.PurePath, text: str) -> str:
    """The prose of a file, on the lines where the file has it."""
    if path.suffix == ".md":
        text = _BLOCK.sub(lambda found: "\n" * found[0].count("\n"), text)
        return _ITEM.sub(START, _CODE.sub("x", text))
    parts, done = [], 0
    for found in _COMMENTS[path.suffix or path.name].finditer(text):
        if found[1]:
            words = _ITEM.sub(START, _CODE.sub("x", _MARKS.sub("", found[1])))
            parts += ["\n" * text.count("\n", done, found.start(1)), _PARAGRAPH.sub(START, words)]
            done = found.end()
    return "".join(parts)


def findings(path: pathlib.PurePath, text: str) -> Iterator[str]:
    """Yields a line for each phrase that a pattern finds."""
    words = _prose(path, text)
    for rule, write in _RULES:
        for found in rule.finditer(words):
            phrase = " ".join(words[found.start() : found.end() + 20].replace(START, "").split())
            yield f"{path}:{1 + words.count(chr(10), 0, found.end())}: {phrase} -> {write}"


def has_prose(path: pathlib.PurePath) -> bool:
    """True for Markdown and for files with comments."""
    return path.suffix == ".md" or (path.suffix or path.name) in _COMMENTS


def check(paths: Iterable[pathlib.PurePath]) -> list[str]:
    """The findings in files that are named relative to ROOT."""
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in filter(has_prose, paths)}
    return [finding for path, text in texts.items() for finding in findings(path, text)]


if __name__ == "__main__":
    command = ["git", "ls-files"]
    names = sys.argv[1:] or subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    found = check(map(pathlib.PurePath, names))
    print(*found, sep="\n", end="\n" * bool(found))
    sys.exit(bool(found))
