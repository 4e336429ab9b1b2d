"""Which packages Java files make, and which package an import means."""

from codeplane.languages.java.linking import LINKING
from codeplane.languages.linking import Linker, UnitView


def linker(packages: dict[str, str]) -> Linker:
    """Return the linker of some files, given by the packages they declare."""
    return LINKING.build(UnitView(tuple(sorted(packages)), ("",), packages.__getitem__, lambda _: None))


def test_a_package_is_what_files_declare_whatever_their_directory() -> None:
    found = linker({"main/a/b/X.java": "a.b", "test/a/b/XTest.java": "a.b", "odd/Y.java": "a.b.c"})
    assert found.modules_of("main/a/b/X.java") == found.modules_of("test/a/b/XTest.java") == ("a.b",)
    assert found.modules_of("odd/Y.java") == ("a.b.c",)
    assert found.implicit_modules("main/a/b/X.java")[0] == "a.b"


def test_imports_mean_packages_of_the_repository() -> None:
    found = linker({"X.java": "a.b", "Y.java": "a.c"})
    assert found.locate("X.java", "a.c") == "a.c"
    assert found.locate("X.java", "java.util") is None
    assert found.locate("X.java", "a.c.Y") is None


def test_packages_written_in_full_are_found_name_by_name() -> None:
    found = linker({"X.java": "a.b.c"})
    start = found.implicit_modules("X.java")[-1]
    assert found.submodule(start, "a") == "a"
    assert found.submodule("a", "b") == "a.b"
    assert found.submodule("a.b", "c") == "a.b.c"
    assert found.submodule("a.b", "d") is None
    assert found.submodule(start, "b") is None


def test_files_without_a_package_share_names_in_their_directory_only() -> None:
    found = linker({"x/A.java": "", "x/B.java": "", "y/C.java": "", "D.java": ""})
    assert found.modules_of("x/A.java") == found.modules_of("x/B.java")
    assert found.modules_of("x/A.java") != found.modules_of("y/C.java")
    assert found.modules_of("D.java") == ("(default) .",)
    assert found.locate("x/A.java", "") is None
