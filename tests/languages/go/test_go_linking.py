"""Which packages Go files make, and which package an import means."""

from codeplane.languages.go.extract import extract
from codeplane.languages.go.linking import LINKING
from codeplane.languages.linking import Linker, UnitView


def linker(files: dict[str, str]) -> Linker:
    """Return the linker of some files; a Go file is given by its package name."""
    paths = tuple(sorted(path for path in files if path.endswith(".go")))

    def package_of(path: str) -> str:
        return extract(f"package {files[path]}\n".encode()).package

    return LINKING.build(UnitView(paths, ("",), package_of, files.get))


def test_a_package_is_called_by_its_import_path() -> None:
    found = linker({"go.mod": "module example.com/m\n", "main.go": "main", "a/b/x.go": "b", "a/b/y.go": "b"})
    assert found.modules_of("main.go") == ("example.com/m",)
    assert found.modules_of("a/b/x.go") == found.modules_of("a/b/y.go") == ("example.com/m/a/b",)
    assert found.implicit_modules("a/b/x.go") == ("example.com/m/a/b",)
    assert found.locate("main.go", "example.com/m/a/b") == "example.com/m/a/b"


def test_what_is_not_in_the_repository_is_not_located() -> None:
    found = linker({"go.mod": "module example.com/m\n", "main.go": "main"})
    assert found.locate("main.go", "fmt") is None
    assert found.locate("main.go", "example.com/m/missing") is None
    assert found.locate("main.go", "example.com/more") is None
    assert found.submodule("example.com/m", "x") is None


def test_external_tests_are_a_package_of_their_own() -> None:
    found = linker({"go.mod": "module m\n", "a/x.go": "a", "a/x_test.go": "a", "a/y_test.go": "a_test"})
    assert found.modules_of("a/x_test.go") == ("m/a",)
    assert found.modules_of("a/y_test.go") == found.implicit_modules("a/y_test.go") == ("m/a_test",)
    assert found.locate("a/y_test.go", "m/a") == "m/a"


def test_a_directory_called_like_an_external_test_stays_apart() -> None:
    found = linker({"go.mod": "module m\n", "a/x.go": "a", "a/y_test.go": "a_test", "a_test/z.go": "a_test"})
    assert found.modules_of("a_test/z.go") == ("m/a_test",)
    assert found.modules_of("a/y_test.go") == ("m/a [test]",)


def test_a_package_may_end_in_test_outside_of_tests() -> None:
    found = linker({"go.mod": "module m\n", "a/x.go": "a_test"})
    assert found.locate("a/x.go", "m/a") == "m/a"


def test_files_that_declare_another_package_stay_apart() -> None:
    found = linker({"go.mod": "module m\n", "a/x.go": "a", "a/gen.go": "main"})
    assert found.modules_of("a/gen.go") == ("m/a [main]",)
    assert found.locate("a/gen.go", "m/a") == "m/a"


def test_a_directory_with_two_packages_means_neither() -> None:
    found = linker({"go.mod": "module m\n", "x.go": "main", "a/x.go": "a", "a/y.go": "b"})
    assert found.locate("x.go", "m/a") is None
    assert found.modules_of("a/x.go") != found.modules_of("a/y.go")


def test_a_file_without_a_package_belongs_to_none() -> None:
    found = linker({"go.mod": "module m\n", "a/x.go": "", "a/y.go": "a"})
    assert found.modules_of("a/x.go") == ()
    assert found.locate("a/x.go", "m/a") == "m/a"


def test_nested_modules_have_their_own_paths() -> None:
    found = linker(
        {
            "go.mod": "module example.com/m\n",
            "x.go": "m",
            "sub/go.mod": "module example.com/m/sub\n",
            "sub/y.go": "sub",
            "other/go.mod": "module example.com/other/v2\n",
            "other/p/z.go": "p",
        }
    )
    assert found.modules_of("sub/y.go") == ("example.com/m/sub",)
    assert found.locate("x.go", "example.com/m/sub") == "example.com/m/sub"
    assert found.locate("sub/y.go", "example.com/other/v2/p") == "example.com/other/v2/p"


def test_a_directory_of_a_nested_module_is_not_the_outer_ones() -> None:
    found = linker({"go.mod": "module m\n", "x.go": "m", "sub/go.mod": "module n\n", "sub/y.go": "sub"})
    assert found.locate("x.go", "m/sub") is None
    assert found.locate("x.go", "n") == "n"


def test_a_module_path_that_stands_twice_means_none_for_others() -> None:
    files = {"go.mod": "module m\n", "x.go": "m", "a/go.mod": "module n\n", "a/y.go": "n", "b/go.mod": "module n\n"}
    found = linker({**files, "b/z.go": "n"})
    assert found.locate("x.go", "n") is None
    assert found.locate("a/y.go", "n") == found.modules_of("a/y.go")[0]
    assert found.modules_of("a/y.go") != found.modules_of("b/z.go")


def test_go_work_says_which_of_two_is_in_use() -> None:
    found = linker(
        {
            "go.work": "go 1.22\nuse (\n\t./m // mine\n\t./b\n)\n",
            "m/go.mod": "module m\n",
            "m/x.go": "m",
            "a/go.mod": "module n\n",
            "a/y.go": "n",
            "b/go.mod": "module n\n",
            "b/z.go": "n",
        }
    )
    assert found.locate("m/x.go", "n") == found.modules_of("b/z.go")[0]


def test_replace_to_a_directory_is_followed() -> None:
    found = linker(
        {
            "go.mod": "module m\n\nreplace (\n\texample.com/n v1.2.3 => ./third/n\n)\nreplace q => ../outside\n",
            "x.go": "m",
            "third/n/go.mod": "module example.com/n\n",
            "third/n/sub/y.go": "sub",
        }
    )
    assert found.locate("x.go", "example.com/n/sub") == "example.com/n/sub"
    assert found.locate("x.go", "q/a") is None


def test_replace_by_another_module_hides_the_one_in_the_repository() -> None:
    found = linker(
        {
            "go.mod": "module m\nreplace n => example.com/fork v1.0.0\n",
            "x.go": "m",
            "n/go.mod": "module n\n",
            "n/y.go": "n",
        }
    )
    assert found.locate("x.go", "n") is None


def test_vendored_packages_are_found_by_the_module_that_has_them() -> None:
    found = linker(
        {
            "go.mod": "module m\n",
            "cmd/x.go": "main",
            "vendor/example.com/v/y.go": "v",
            "other/go.mod": "module o\n",
            "other/z.go": "o",
        }
    )
    assert found.modules_of("vendor/example.com/v/y.go") == ("example.com/v",)
    assert found.locate("cmd/x.go", "example.com/v") == "example.com/v"


def test_internal_packages_are_for_what_lies_around_them() -> None:
    found = linker({"go.mod": "module m\n", "a/internal/b/x.go": "b", "a/c/y.go": "c", "d/z.go": "d"})
    assert found.locate("a/c/y.go", "m/a/internal/b") == "m/a/internal/b"
    assert found.locate("d/z.go", "m/a/internal/b") is None


def test_without_a_mod_file_packages_are_directories_and_nothing_is_located() -> None:
    found = linker({"a/x.go": "a", "b/y.go": "b"})
    assert found.modules_of("a/x.go") == ("a",)
    assert found.locate("a/x.go", "example.com/m/b") is None
    assert found.locate("a/x.go", "../b") == "b"


def test_damaged_mod_files_say_nothing() -> None:
    for text in ("", "module\n", "module (\n", "replace\nreplace =>\nreplace a =>\n=> b\n", "(\n)\n\x00"):
        found = linker({"go.mod": text, "a/x.go": "a"})
        assert found.modules_of("a/x.go") == ("a",)
