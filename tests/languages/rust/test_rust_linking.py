"""Which modules Rust files make, and which module a path means."""

import pytest

from codeplane.languages.linking import Linker, UnitView
from codeplane.languages.rust.linking import LINKING
from codeplane.languages.rust.modules import ModuleDeclaration, module_declarations

PACKAGE = '[package]\nname = "my-lib"\nedition = "2021"\n'


def linker(files: dict[str, str]) -> Linker:
    paths = tuple(sorted(path for path in files if path.endswith(".rs")))
    return LINKING.build(UnitView(paths, ("",), lambda _: "", files.get))


def test_modules_are_called_by_their_path_from_the_crate() -> None:
    found = linker(
        {
            "Cargo.toml": PACKAGE,
            "src/lib.rs": "mod a;\npub mod b;\n",
            "src/a.rs": "mod c;\n",
            "src/a/c.rs": "",
            "src/b/mod.rs": "mod d;\n",
            "src/b/d.rs": "",
        }
    )
    assert found.modules_of("src/lib.rs") == ("my_lib",)
    assert found.modules_of("src/a.rs") == ("my_lib::a",)
    assert found.modules_of("src/a/c.rs") == ("my_lib::a::c",)
    assert found.modules_of("src/b/d.rs") == ("my_lib::b::d",)
    assert found.submodule("my_lib", "a") == "my_lib::a"
    assert found.submodule("my_lib::a", "d") is None


def test_paths_are_followed() -> None:
    found = linker(
        {
            "Cargo.toml": PACKAGE,
            "src/lib.rs": "mod a;\nmod b;\n",
            "src/a.rs": "mod c;\n",
            "src/a/c.rs": "",
            "src/b.rs": "",
        }
    )
    assert found.locate("src/a/c.rs", "crate") == "my_lib"
    assert found.locate("src/a/c.rs", "crate::b") == "my_lib::b"
    assert found.locate("src/a/c.rs", "self") == "my_lib::a::c"
    assert found.locate("src/a/c.rs", "super") == "my_lib::a"
    assert found.locate("src/a/c.rs", "super::super::b") == "my_lib::b"
    assert found.locate("src/a.rs", "self::c") == "my_lib::a::c"
    assert found.locate("src/a.rs", "c") == "my_lib::a::c"
    assert found.locate("src/a.rs", "b") is None
    assert found.locate("src/lib.rs", "super") is None
    assert found.locate("src/lib.rs", "crate::a::Type") is None
    assert found.locate("src/lib.rs", "std::fmt") is None


def test_paths_of_old_crates_start_at_the_root() -> None:
    files = {"Cargo.toml": '[package]\nname = "m"\n', "src/lib.rs": "mod a;\nmod b;\n", "src/a.rs": "", "src/b.rs": ""}
    assert linker(files).locate("src/a.rs", "b") == "m::b"


def test_a_file_that_no_crate_declares_is_no_module() -> None:
    found = linker({"Cargo.toml": PACKAGE, "src/lib.rs": "", "src/a.rs": "", "other/x.rs": ""})
    assert found.modules_of("src/a.rs") == found.modules_of("other/x.rs") == ()
    assert found.implicit_modules("src/a.rs") == ()
    assert found.locate("src/a.rs", "crate") is None


def test_crates_of_a_package() -> None:
    found = linker(
        {
            "Cargo.toml": PACKAGE
            + '[[bin]]\nname = "tool"\npath = "cli/start.rs"\n[[test]]\nname = "all"\npath = "t/x.rs"\n',
            "src/lib.rs": "",
            "src/main.rs": "",
            "src/bin/extra.rs": "",
            "src/bin/multi/main.rs": "mod part;\n",
            "src/bin/multi/part.rs": "",
            "cli/start.rs": "mod other;\n",
            "cli/other.rs": "",
            "t/x.rs": "",
            "tests/one.rs": "mod common;\n",
            "tests/common/mod.rs": "",
            "examples/demo.rs": "",
            "benches/speed.rs": "",
            "build.rs": "",
        }
    )
    assert found.modules_of("src/main.rs") == ("my_lib (bin)",)
    assert found.modules_of("src/bin/extra.rs") == ("extra",)
    assert found.modules_of("src/bin/multi/part.rs") == ("multi::part",)
    assert found.modules_of("cli/other.rs") == ("tool::other",)
    assert found.modules_of("t/x.rs") == ("all",)
    assert found.modules_of("tests/common/mod.rs") == ("one::common",)
    assert found.modules_of("examples/demo.rs") == ("demo",)
    assert found.modules_of("benches/speed.rs") == ("speed",)
    assert found.modules_of("build.rs") == ("build",)
    assert found.locate("tests/one.rs", "my_lib") == "my_lib"
    assert found.locate("src/main.rs", "my_lib") == "my_lib"
    assert found.locate("src/lib.rs", "my_lib") is None


def test_a_library_can_have_another_name_and_place() -> None:
    found = linker({"Cargo.toml": PACKAGE + '[lib]\nname = "core_lib"\npath = "lib/root.rs"\n', "lib/root.rs": ""})
    assert found.modules_of("lib/root.rs") == ("core_lib",)


def test_dependencies_with_a_path_are_crates_that_can_be_named() -> None:
    others = ("b-c", "d", "e", "f", "g")
    found = linker(
        {
            "Cargo.toml": '[workspace]\nmembers = ["*"]\n[workspace.dependencies]\nd = { path = "d" }\n',
            "a/Cargo.toml": '[package]\nname = "a"\nedition = "2021"\n[dependencies]\nb-c = { path = "../b-c" }\n'
            'renamed = { package = "e", path = "../e" }\nd = { workspace = true }\nserde = "1"\nf = "1"\n'
            "[target.'cfg(unix)'.dev-dependencies]\ng = { path = '../g' }\n",
            "a/src/lib.rs": "",
            **{f"{name}/Cargo.toml": f'[package]\nname = "{name}"\nedition = "2021"\n' for name in others},
            **{f"{name}/src/lib.rs": "pub mod x;\n" for name in others},
            **{f"{name}/src/x.rs": "" for name in others},
        }
    )
    assert found.locate("a/src/lib.rs", "b_c::x") == "b_c::x"
    assert found.locate("a/src/lib.rs", "::b_c") == "b_c"
    assert found.locate("a/src/lib.rs", "renamed") == "e"
    assert found.locate("a/src/lib.rs", "e") is None
    assert found.locate("a/src/lib.rs", "d::x") == "d::x"
    assert found.locate("a/src/lib.rs", "g") == "g"
    assert found.locate("a/src/lib.rs", "f") is None
    assert found.locate("a/src/lib.rs", "serde") is None
    (crates,) = found.implicit_modules("a/src/lib.rs")
    assert found.submodule(crates, "b_c") == "b_c"
    assert found.submodule(crates, "f") is None


def test_a_name_that_is_a_module_and_a_crate_means_neither() -> None:
    found = linker(
        {
            "Cargo.toml": PACKAGE + '[dependencies]\nx = { path = "x" }\n',
            "src/lib.rs": "mod x;\n",
            "src/x.rs": "",
            "x/Cargo.toml": '[package]\nname = "x"\n',
            "x/src/lib.rs": "",
        }
    )
    assert found.locate("src/lib.rs", "x") is None
    assert found.locate("src/lib.rs", "self::x") == "my_lib::x"
    assert found.locate("src/lib.rs", "::x") == "x"


def test_path_attributes_and_inline_modules() -> None:
    found = linker(
        {
            "Cargo.toml": PACKAGE,
            "src/lib.rs": '#[path = "odd/name.rs"]\nmod a;\nmod b { mod c; #[path = "e.rs"] mod d; }\nmod g;\n',
            "src/odd/name.rs": "mod f;\n",
            "src/odd/f.rs": "",
            "src/b/c.rs": "",
            "src/b/e.rs": "",
            "src/g.rs": 'mod h { mod i; }\n#[path = "j.rs"]\nmod k;\n',
            "src/g/h/i.rs": "",
            "src/j.rs": "",
        }
    )
    assert found.modules_of("src/odd/name.rs") == ("my_lib::a",)
    assert found.modules_of("src/odd/f.rs") == ("my_lib::a::f",)
    assert found.modules_of("src/b/c.rs") == ("my_lib::b::c",)
    assert found.modules_of("src/b/e.rs") == ("my_lib::b::d",)
    assert found.modules_of("src/g/h/i.rs") == ("my_lib::g::h::i",)
    assert found.modules_of("src/j.rs") == ("my_lib::g::k",)


def test_a_module_with_a_file_per_platform_has_both() -> None:
    found = linker(
        {
            "Cargo.toml": PACKAGE,
            "src/lib.rs": '#[cfg(unix)]\n#[path = "u.rs"]\nmod sys;\n#[cfg(windows)]\n#[path = "w.rs"]\nmod sys;\n',
            "src/u.rs": "",
            "src/w.rs": "",
        }
    )
    assert found.modules_of("src/u.rs") == found.modules_of("src/w.rs") == ("my_lib::sys",)


def test_a_module_with_two_files_by_name_has_none() -> None:
    found = linker({"Cargo.toml": PACKAGE, "src/lib.rs": "mod a;\n", "src/a.rs": "", "src/a/mod.rs": ""})
    assert found.modules_of("src/a.rs") == ()


def test_a_file_of_two_crates_answers_only_what_is_the_same_in_both() -> None:
    found = linker(
        {
            "Cargo.toml": PACKAGE,
            "src/lib.rs": "mod a;\nmod b;\n",
            "src/main.rs": "mod a;\n",
            "src/a.rs": "",
            "src/b.rs": "",
        }
    )
    assert found.modules_of("src/a.rs") == ("my_lib::a", "my_lib (bin)::a")
    assert found.locate("src/a.rs", "self") == "my_lib::a"
    assert found.locate("src/a.rs", "crate") is None
    assert found.locate("src/a.rs", "crate::b") is None


def test_two_packages_of_one_name_stay_apart() -> None:
    found = linker({"a/Cargo.toml": PACKAGE, "a/src/lib.rs": "", "b/Cargo.toml": PACKAGE, "b/src/lib.rs": ""})
    assert found.modules_of("a/src/lib.rs") == ("my_lib",)
    assert found.modules_of("b/src/lib.rs") == ("my_lib in b",)


def test_modules_that_declare_themselves_end() -> None:
    found = linker({"Cargo.toml": PACKAGE, "src/lib.rs": '#[path = "lib.rs"]\nmod again;\n'})
    assert found.modules_of("src/lib.rs")[0] == "my_lib"


@pytest.mark.parametrize(
    "text", ["", "[", "package = 1\n", "[package]\nname = 1\n", "[package]\n", "[lib]\npath = 3\n\x00"]
)
def test_damaged_manifests_say_nothing(text: str) -> None:
    found = linker({"Cargo.toml": text, "src/lib.rs": ""})
    assert found.modules_of("src/lib.rs") == ()


def test_declarations_are_found_outside_of_comments_and_strings() -> None:
    text = """
    // mod a;
    /* mod b; */
    const S: &str = "mod c;";
    const R: &str = r#"mod "d";"#;
    const C: char = '"';
    pub(crate) mod e;
    mod f { pub mod g; fn x() { mod never; } }
    #[cfg_attr(unix, path = "h/i.rs")]
    mod j;
    """
    assert module_declarations(text) == [
        ModuleDeclaration((), "e", None),
        ModuleDeclaration(("f",), "g", None),
        ModuleDeclaration((), "j", "h/i.rs"),
    ]


def test_declarations_in_arguments_of_macros_count() -> None:
    text = """
    cfg_net! { pub mod a; mod b { mod c; } fn f() { mod never; } }
    cfg_if::cfg_if! { if #[cfg(unix)] { mod d; } else { mod e; } }
    macro_rules! declare { () => { mod never; } }
    """
    assert module_declarations(text) == [
        ModuleDeclaration((), "a", None),
        ModuleDeclaration(("b",), "c", None),
        ModuleDeclaration((), "d", None),
        ModuleDeclaration((), "e", None),
    ]
