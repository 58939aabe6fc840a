"""Hooks that MkDocs calls while it builds the site: they add the generated pages."""

import functools
import pathlib
import sys

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# MkDocs removes this folder from the path once this module is loaded, so everything is imported
# here.
_HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(_HERE), str(_HERE.parent)]

import api_pages  # noqa: E402
import difference_tables  # noqa: E402
import op_pages  # noqa: E402
import sources  # noqa: E402
import stock_page  # noqa: E402


@functools.cache
def _made() -> dict[str, str | bytes]:
    """The generated pages, made once: an edit changes none of them."""
    return {**api_pages.files(), **op_pages.files(), **stock_page.files()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the pages that nav does not name."""
    docs = pathlib.Path(config.docs_dir)
    nav = {title: pages for section in config.nav for title, pages in section.items()}
    named = str(config.nav)
    nav["Guides"] += [path.name for path in sorted(docs.glob("*.md")) if path.name not in named]
    nav["API"] += [{title: page} for title, page in api_pages.pages().items()]
    nav["Ops"] += [{op_pages.short_name(op): op_pages.page_name(op)} for op in op_pages.ops()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages and drawings, and the sources that they link to."""
    made = dict(_made())
    docs = pathlib.Path(config.docs_dir)
    pages = {
        file.src_uri: (docs / file.src_uri).read_text(encoding="utf-8")
        for file in files.documentation_pages()
    }
    pages |= {
        name: content
        for name, content in made.items()
        if isinstance(content, str) and name.endswith(".md")
    }
    made |= sources.pages(pages)
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adds the tables of differences; links to files of the repository lead to their pages."""
    if page.file.src_uri == "known_differences.md":
        markdown += "\n" + difference_tables.markdown(difference_tables.recorded())
    return sources.rewrite(markdown, page.file.src_uri)
