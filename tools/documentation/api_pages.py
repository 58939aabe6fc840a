"""The API reference: a page for each Python module and for the C and C++ headers."""

import header_reference
import python_reference


def pages() -> dict[str, str]:
    """The pages' names in docs/ by their titles, in the order of the navigation."""
    modules = {
        f"tensorflow_ext.{m}": python_reference.page_name(m) for m in python_reference.MODULES
    }
    headers = {
        header_reference.title(p): header_reference.page_name(p) for p in header_reference.PAGES
    }
    return modules | headers


def files() -> dict[str, str | bytes]:
    """The pages by their names in docs/."""
    return {"api/index.md": _index(), **python_reference.files(), **header_reference.files()}


def _index() -> str:
    summaries = {
        python_reference.page_name(module): python_reference.summary(module)
        for module in python_reference.MODULES
    }
    summaries[header_reference.page_name("c")] = "Gradients without C++, for C and other languages."
    summaries[header_reference.page_name("cpp")] = "Formulas, tables, gradients of graphs, tests."
    rows = "\n".join(
        f"| [{title}]({page.removeprefix('api/')}) | {summaries[page]} |"
        for title, page in pages().items()
    )
    return (
        "# API\n\n"
        "These pages come from the docstrings and comments of the sources. "
        "[The ops](../ops/index.md) have pages of their own, and "
        "[the kit](../kit.md) lists the headers for kernels.\n\n"
        f"| page | contents |\n|---|---|\n{rows}\n"
    )
