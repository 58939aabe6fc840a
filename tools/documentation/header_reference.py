"""Reference pages of the public C and C++ headers, from their comments."""

import pathlib
import re
from collections.abc import Iterator

from python_reference import escaped, paragraphs

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The headers of each page, in their order on it.
PAGES = {
    "c": (
        "The C interface",
        (
            "gradient/c_api.h",
            "gradient/formula_api.h",
            "functionalize/functionalize_graph_def.h",
            "saved_model/describe_meta_graph.h",
            "saved_model/use_model_gradients.h",
            "tape/tape.h",
            "train/train.h",
            "version.h",
        ),
    ),
    "cpp": (
        "C++ headers",
        (
            "gradient/formula/formula.h",
            "gradient/formula/formula_ops.h",
            "gradient/define.h",
            "gradient/register_op_gradient.h",
            "cc/gradients.h",
            "gradient_tape.h",
            "inline_calls.h",
            "minimize.h",
            "slice_gradients.h",
            "trainable_model.h",
            "use_model_gradients.h",
            "variables.h",
            "testing/check_gradient.h",
        ),
    ),
}
_INTRODUCTION = re.compile(r"/\*.*?\*/|(?://[^\n]*\n)+", re.DOTALL)
_MARKS = re.compile(r"^(?:// (?:---- )?|//|/\* ?| \*/| \* ?)| *\*/$", re.MULTILINE)
# Lines between declarations.
_BETWEEN = re.compile(r"#(?!define)|namespace|extern \"C\"|\}|\s*$|static_assert")
_INTERNAL = re.compile(r"^namespace (\w*internal) \{.*?^\}  // namespace \1", re.M | re.DOTALL)
_UNSHOWN = re.compile(
    r" *// NOLINT[^\n]*|__attribute__\(\(.*?\)\) |\n private:\n.*?\n(?=\};)", re.DOTALL
)
_TYPE = r"(?:template <[^{;]*?>\s*)?(?:class|struct|enum(?: class)?) "
_NAMES = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"\A#define (\w+)",
        r"\Atypedef (?:struct|enum) (\w+)",
        r"\Atypedef .*?\(\*(\w+)\)",
        rf"\A{_TYPE}(\w+)",
        r"\Aenum \{.*?(\w+) =",
        r"\Ausing (\w+) =",
        r"(operator\W+?|\b\w+)\(",
        r"\b(\w+)(?:\[\])?(?: = [^;]*)?;",
    )
]


def files() -> dict[str, str | bytes]:
    """The pages by their name in docs/."""
    return {page_name(page): _page(page) for page in PAGES}


def page_name(page: str) -> str:
    return f"api/{page}.md"


def title(page: str) -> str:
    return PAGES[page][0]


def _page(page: str) -> str:
    name, headers = PAGES[page]
    parts = [f"# {name}"]
    for header in headers:
        path = pathlib.Path("tensorflow_ext", header)
        parts += [f"## {header}", f"Source: [`{path}`](../../{path})"]
        parts += _header((ROOT / path).read_text(encoding="utf-8"))
    return "\n\n".join(parts) + "\n"


def _header(text: str) -> Iterator[str]:
    """A header's introduction, then its declarations with their comments."""
    found = _INTRODUCTION.match(text)
    if found:
        yield paragraphs(_words(found[0]))
    rest = _INTERNAL.sub("", text[found.end() if found else 0 :])
    for comment, code in _declarations(rest.splitlines()):
        words = _words(comment)
        macro = re.match(r"#define (\w+)", code)
        if macro and f"#undef {macro[1]}" in text:
            # A macro that declares functions of one form.
            yield f"### {words.partition('.')[0]}"
            yield ", ".join(
                f"`{name}`" for name in re.findall(rf"^{macro[1]}\((\w+)\)", code, re.M)
            )
        elif words or re.match(_TYPE + "[^;]*{", code):
            yield f"### {_name(code)}"
            yield f"```cpp\n{_shown(code)}\n```"
        else:
            continue
        yield paragraphs(words)


def _words(comment: str) -> str:
    return _MARKS.sub("", comment).strip("\n")


def _declarations(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yields each comment at the margin with the declarations up to the next blank line."""
    comment: list[str] = []
    code: list[str] = []
    for line in [*lines, ""]:
        if code and not _is_complete(code):
            code.append(line)
            continue
        in_comment = comment and comment[0].startswith("/*") and "*/" not in comment[-1]
        if in_comment or line.startswith(("//", "/*")):
            if code:
                yield "\n".join(comment), "\n".join(code)
                comment, code = [], []
            comment.append(line)
        elif _BETWEEN.match(line):
            if code:
                yield "\n".join(comment), "\n".join(code)
            comment, code = [], []
        else:
            code.append(line)


def _is_complete(lines: list[str]) -> bool:
    """True if the lines end where a declaration, a macro or a macro call ends."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", "\n".join(lines), flags=re.DOTALL).rstrip()
    if any(code.count(opening) != code.count(closing) for opening, closing in ("{}", "()")):
        return False
    last = code.rpartition("\n")[2]
    macro = re.match(r"#define|[A-Z_]+\(", last) or "\\\n" in code
    return not code.endswith("\\") and bool(macro or code.endswith((";", "}")))


def _shown(code: str) -> str:
    """Declarations without private parts, function bodies and compiler hints."""
    code = _UNSHOWN.sub("", code)
    body = re.compile(r"\)( const)?(?:\s*:(?!:)[^{};]*)?\s*(?=\{)")
    if code.startswith("#"):
        return "\n".join(re.sub(r" *\\.*", "", line) for line in code.splitlines()[:1])
    while found := body.search(code):
        end, depth = found.end(), 0
        while end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
            if not depth:
                break
        code = f"{code[: found.start()]}){found[1] or ''};{code[end:]}"
    return re.sub(r"\n+(?=\};)", "\n", code)


def _name(code: str) -> str:
    """The name of the first declaration."""
    names = (pattern.search(_UNSHOWN.sub("", code)) for pattern in _NAMES)
    return escaped(next(found[1].strip() for found in names if found))
