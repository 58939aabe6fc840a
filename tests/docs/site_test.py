"""The site builds without a warning, and works in a browser."""

import contextlib
import importlib.util
import pathlib
import re
import shutil
import string
from collections.abc import Callable, Iterator
from typing import Any

import built_site
import pytest
from built_site import ROOT
from commit_sampling import share_of_commit

from tensorflow_ext import raw_ops

_MISSING = [
    f"{name}: {fix}"
    for name, there, fix in (
        ("MkDocs", importlib.util.find_spec("mkdocs"), "./run docs installs it"),
        ("Graphviz", shutil.which("dot"), "apt-get install graphviz"),
        ("Chromium", shutil.which("chromium"), "apt-get install chromium"),
    )
    if not there
]
pytestmark = pytest.mark.skipif(bool(_MISSING), reason="; ".join(_MISSING))

_PHONE = {"width": 360, "height": 740}
_DESKTOP = {"width": 1280, "height": 900}
_FITS = "width => document.documentElement.scrollWidth <= width"
# Pages of these kinds are alike, so only a few of each are opened; of the others, each commit opens
# a quarter.
_ALIKE = {"ops/": 3, "source/": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("site")
    built_site.build(folder)
    return folder


@pytest.fixture(scope="module")
def address(folder: pathlib.Path) -> Iterator[str]:
    with built_site.served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Opens pages; at the end, none of them may have reported an error."""
    complaints: list[str] = []
    contexts = []

    def open_page(name: str, viewport: dict[str, int] = _DESKTOP, scheme: str = "light") -> Any:
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: m.type in ("error", "warning") and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("response", lambda r: r.status >= 400 and complaints.append(f"{r.status} {r.url}"))
        page.on(
            "request",
            lambda r: (
                r.url.startswith((address, "data:", "blob:"))
                or complaints.append(f"another host: {r.url}")
            ),
        )
        page.goto(address + name, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def _sampled(pages: list[str]) -> list[str]:
    others = [page for page in pages if not page.startswith(tuple(_ALIKE))]
    chosen = share_of_commit("pages", others, 4, "docs/", "tools/documentation/", "mkdocs.yml")
    for kind, count in _ALIKE.items():
        alike = [page for page in pages if page.startswith(kind)]
        chosen += share_of_commit(kind, alike, len(alike) // count)
    return chosen


def test_no_broken_links(folder: pathlib.Path) -> None:
    """No link is broken, and nothing is loaded from another host."""
    assert not built_site.broken_links(folder)


def test_nothing_from_other_hosts_in_style_sheets(folder: pathlib.Path) -> None:
    for sheet in folder.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text()), sheet


def test_every_page_of_docs_is_there(folder: pathlib.Path) -> None:
    pages = built_site.pages(folder)
    for path in (ROOT / "docs").glob("*.md"):
        name = "" if path.stem == "index" else f"{path.stem}/"
        assert name in pages
        assert f'href="{name or "."}"' in (folder / "index.html").read_text(), (
            f"docs/index.md has no link to {path.name}"
        )


def test_no_page_is_twice_in_the_navigation() -> None:
    named = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text())
    assert sorted(named) == sorted(set(named))


def test_every_op_has_a_page(folder: pathlib.Path) -> None:
    for name, op in raw_ops.OPS.items():
        page = (folder / "ops" / name / "index.html").read_text()
        assert op.replace(">", "&gt;") in page
        assert "Every client runs this" in page or "has no gradient" in page


def test_pages_open(folder: pathlib.Path, address: str, open_page: Callable[..., Any]) -> None:
    """Pages open without an error and are no wider than the window."""
    from playwright import sync_api

    page = open_page("")
    names = _sampled(built_site.pages(folder))
    assert len(names) > 8
    for name in names:
        page.goto(address + name, wait_until="load")
        for viewport, scheme in ((_DESKTOP, "dark"), (_PHONE, "light")):
            page.set_viewport_size(viewport)
            page.emulate_media(color_scheme=scheme)
            assert page.locator("h1").first.is_visible(), name
            # After it has loaded, the page's script puts wide tables into a frame.
            with contextlib.suppress(sync_api.TimeoutError):
                page.wait_for_function(_FITS, arg=viewport["width"], timeout=10_000)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= viewport["width"], f"{name} is {width} pixels wide"


def test_search_finds_an_op(open_page: Callable[..., Any]) -> None:
    page = open_page("")
    page.get_by_role("textbox", name="Search").click()
    page.keyboard.type("RoiAlign")
    result = page.locator(".md-search-result__item a[href*='ops/roi_align/']").first
    result.wait_for()
    result.click()
    page.wait_for_url("**/ops/roi_align/**")
    assert "TfExt>RoiAlign" in page.locator("h1").inner_text()


def test_search_for_every_letter(open_page: Callable[..., Any]) -> None:
    """Each search reads all words of the index that begin with it; none may fail."""
    page = open_page("")
    page.get_by_role("textbox", name="Search").click()
    found = page.locator(".md-search-result__meta")
    for letter in string.ascii_lowercase:
        page.keyboard.type(letter)
        page.wait_for_timeout(50)
        page.keyboard.press("Backspace")
    page.keyboard.type("Conv2D")
    page.get_by_text(re.compile(r"^\d+ matching documents$")).wait_for()
    assert int(found.inner_text().split()[0]) > 1


def test_op_page(open_page: Callable[..., Any]) -> None:
    page = open_page("ops/mish/")
    for picture in (page.locator("img.plot"), page.locator("img.drawing")):
        assert picture.count() == 1
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("image => image.complete && image.naturalWidth") > 100
    assert page.locator("math").count() == 2
    assert page.get_by_text("dx = TfExt>MishGrad(dy, x)").is_visible()
    row = page.locator("tr", has_text="known values")
    assert not row.is_visible()
    page.get_by_text(re.compile(r"^\d+ cases$")).click()
    assert row.is_visible()
    page.get_by_role("link", name="MishGrad").first.click()
    page.wait_for_url("**/ops/mish_grad/")


def test_filter_of_stock_ops(open_page: Callable[..., Any]) -> None:
    page = open_page("stock_ops/")
    rows = page.locator("tbody tr:visible")
    count = rows.count()
    assert count > 400
    page.get_by_role("searchbox").fill("erfc")
    assert [rows.nth(i).inner_text().split()[0] for i in range(rows.count())] == ["Erfc"]
    assert "ours" in rows.first.inner_text()
    assert page.get_by_role("status").last.inner_text() == f"1 of {count}"
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Which of them").select_option("none somewhere")
    assert 0 < rows.count() < count
    for i in range(rows.count()):
        assert rows.nth(i).locator("[data-kind=none]").count()


def test_filter_of_ops(open_page: Callable[..., Any]) -> None:
    page = open_page("ops/")
    page.get_by_role("searchbox").fill("roipool")
    rows = page.locator("tbody tr:visible")
    assert rows.count() == sum("RoiPool" in op for op in raw_ops.OPS.values())


def test_dark_and_light(open_page: Callable[..., Any]) -> None:
    page = open_page("", scheme="dark")
    body = page.locator("body")
    assert body.get_attribute("data-md-color-scheme") == "slate"
    page.get_by_title("Light").locator("visible=true").click()
    assert body.get_attribute("data-md-color-scheme") == "default"


def test_tabs_and_navigation(open_page: Callable[..., Any]) -> None:
    page = open_page("")
    code = page.get_by_text("TF_AddGradients(graph")
    assert not code.is_visible()
    page.locator(".tabbed-labels").get_by_text("C", exact=True).click()
    assert code.is_visible()
    page.locator("nav.md-tabs").get_by_text("Guides").click()
    page.get_by_role("link", name="Writing gradients").first.click()
    page.wait_for_url("**/writing_gradients/")
    assert page.locator("h1").inner_text().startswith("Writing gradients")
