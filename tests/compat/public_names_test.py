"""Programs still compile and run: the names that they use are there, unchanged."""

import re

import cpp_names
import public_names
import pytest
import recorded

RECORDED = recorded.read()
RULE = "docs/compatibility.md says what may change, and when."
RECORD = ".venv/bin/python tests/compat/record.py records it."

every_list = pytest.mark.parametrize("name", public_names.LISTS)


@every_list
def test_nothing_was_removed(name: str) -> None:
    now = public_names.LISTS[name]()
    faults = public_names.broken(RECORDED[name], now)
    assert not faults, RULE


@every_list
def test_everything_is_recorded(name: str) -> None:
    new = set(public_names.LISTS[name]()) - set(RECORDED[name])
    assert not new, f"{name} has not {sorted(new)}: {RECORD}"


def test_the_library_exports_what_its_headers_declare() -> None:
    declared = {
        found[1]
        for line in RECORDED["c_interface"]
        if (found := re.search(r"(TfExt_\w+) \(", line))
    }
    assert len(declared) > 30
    assert public_names.exported() == declared


@every_list
def test_a_removed_line_is_found(name: str) -> None:
    lines = RECORDED[name]
    for i in range(0, len(lines), 7):
        left = [*lines[:i], *lines[i + 1 :]]
        assert public_names.broken(lines, left) == [f"gone: {lines[i]}"]


@pytest.mark.parametrize(
    ("before", "now", "fault"),
    [
        ("f(x, a=1)", "f(x, a=1, b=2)", ""),
        ("f(x, a=1)", "f(x, a=1, *, b=2)", ""),
        ("f(x)", "f(x=None)", ""),
        ("f(x, **kwargs)", "f(x, y=1, **kwargs)", ""),
        ("f(x, a=1)", "f(x, a=2)", "the default of a was 1"),
        ("f(x, a=1)", "f(x, a)", "the default of a was 1"),
        ("f(x, a=1)", "f(x, b=1, a=1)", r"its arguments were \(x, a\)"),
        ("f(x, y)", "f(y, x)", r"its arguments were \(x, y\)"),
        ("f(x)", "f(x, y)", "y must be given"),
        ("f(x, *, a=1)", "f(x)", "the default of a was 1"),
        ("f(x, *, a)", "f(x)", "a is gone"),
        ("f(x, **kwargs)", "f(x)", "it took any arguments"),
        ("f(x)", "g(x)", "gone"),
        ("f(x)", "f", "gone"),
    ],
)
def test_signatures(before: str, now: str, fault: str) -> None:
    module = "tensorflow_ext.ops."
    found = public_names.broken([module + before], [module + now])
    assert bool(found) == bool(fault)
    assert not fault or re.search(fault, found[0])


def test_changes_of_c_and_cpp_are_found() -> None:
    before = ["int TfExt_F (int);", "formula.h: Value Exp(Given x)"]
    now = ["int TfExt_F (int, int);", "formula.h: Value Exp(Value x)"]
    found = public_names.broken(before, now)
    assert found == [f"gone: {line}" for line in before]


def test_declarations() -> None:
    text = """
        #include <missing>
        #define TWICE(x) Value x(int);
        #define COUNTED(counter, x) int x
        namespace one {
        namespace one_internal { int Hidden(); }
        // Comment {
        class A final : public B {
         public:
          A(int i = 0) : i_(i) { Do("{"); }
          template <typename T>
          T Get() const;
         private:
          int i_ = 3;
        };
        enum class E { kOne = 1, kTwo };
        struct S { int x = 2; };
        inline constexpr double kPi = 3.14;
        TWICE(F)
        }
    """
    assert cpp_names.macros(text) == ["TWICE(x)"]
    assert cpp_names.declarations(text) == [
        "class A final",
        "A::A(int i = 0)",
        "A::template <typename T> T Get() const",
        "enum class E",
        "E::kOne = 1",
        "E::kTwo",
        "struct S",
        "S::int x",
        "inline constexpr double kPi",
        "Value F(int)",
    ]
