"""Relations between definitions through the door: callers, overrides, subclasses, implementations, importers, tests."""

from pathlib import Path

import pytest

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import write

PYTHON: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'zoo'\n",
    "zoo/__init__.py": "from .kinds import Animal, feed\nfrom .kinds import make\n",
    "zoo/kinds/__init__.py": "from .base import *\nfrom .base import make\n",
    "zoo/kinds/base.py": (
        "import abc\n\n\nclass Animal(abc.ABC):\n"
        "    @property\n    def name(self):\n        return ''\n\n"
        "    @abc.abstractmethod\n    def speak(self):\n        pass\n\n"
        "    def __hidden(self):\n        pass\n\n\n"
        "def feed(animal):\n    return animal.speak()\n\n\ndef make():\n    return feed\n"
    ),
    "zoo/dogs.py": (
        "from zoo import Animal, feed, make\n\n\n"
        "class Dog(Animal):\n    name = 'dog'\n\n    def speak(self):\n        feed(self)\n        return 'wau'\n\n"
        "    def __hidden(self):\n        pass\n\n\n"
        "class Puppy(Dog):\n    def speak(self):\n        self.speak = 1\n        return super().speak()\n\n\n"
        "class Loud:\n    def speak(self):\n        return '!'\n\n\n"
        "class Wolf(Animal):\n    pass\n\n\n"
        "class Mixed(Puppy, Wolf):\n    pass\n\n\n"
        "class LoudWolf(Loud, Wolf):\n    pass\n\n\n"
        "class Made(make()):\n    speak = None\n\n\n"
        "class Überhund(Dog):\n    def speak(self):\n        return 'ü'\n\n\n"
        "callback = [feed]\n\n\n@feed\ndef decorated(thing):\n    thing.speak()\n    return feed(\n        thing)\n"
    ),
    "other/dogs.py": "class Animal:\n    def speak(self):\n        pass\n\n\nclass Dog(Animal):\n    pass\n",
    "use/attribute.py": "import zoo\n\n\nzoo.feed(None)\n",
    "tests/test_dogs.py": "from zoo.dogs import Dog\n\n\ndef test_it():\n    assert Dog().speak()\n",
}
TYPESCRIPT: dict[str, str | bytes] = {
    "package.json": "{}\n",
    "shape.ts": "export interface Shape { area(n: number): number }\nexport interface Round extends Shape {}\n",
    "all.ts": "export * from './shape'\n",
    "index.ts": "export * from './all'\n",
    "disc.ts": (
        "import { Round } from './index'\n"
        "export class Disc implements Round { area(n: number) { return n } static make() { return new Disc() } }\n"
        "export class Coin extends Disc { constructor() { super() } area(n: number) { return super.area(n) }"
        " static area() {} }\n"
    ),
    "shown.tsx": "import { Disc } from './disc'\nexport const shown = <Disc />\nexport const kept = Disc\n",
}
GO: dict[str, str | bytes] = {
    "go.mod": "module example.com/shop\n\ngo 1.21\n",
    "store/store.go": (
        'package store\n\nimport "io"\n\n'
        "type Named interface{ Name() string }\n"
        "type Store interface {\n\tNamed\n\tPut(key, value string, extra ...interface{}) (err error)\n}\n"
        "type Closing interface {\n\tio.Closer\n\tName() string\n}\n"
        "type Any interface{}\n"
    ),
    "store/memory.go": (
        'package store\n\ntype base struct{}\n\nfunc (base) Name() string { return "" }\n\n'
        "type Memory struct{ *base }\n\nfunc (m *Memory) Put(k string, v string, more ...any) error { return nil }\n\n"
        "type Wrong struct{ base }\n\nfunc (w Wrong) Put(k int) error { return nil }\n"
    ),
}
JAVA: dict[str, str | bytes] = {
    "src/p/Shape.java": "package p;\npublic interface Shape<T> { double area(int a); void add(T one); }\n",
    "src/p/Base.java": (
        "package p;\npublic abstract class Base implements Shape<String> {\n"
        "  private void own() {}\n  void twice(int a) {}\n  static void make() {}\n"
        "  public double area(final int b) { return 0; }\n  public void add(String one) {}\n}\n"
    ),
    "src/p/Disc.java": (
        "package p;\npublic class Disc extends Base {\n  void own() {}\n"
        "  void twice(String a) {}\n  void twice(int b) {}\n"
        "  static void make() {}\n  public double area(int c) { new Disc(); return area(1); }\n}\n"
    ),
}
RUST: dict[str, str | bytes] = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\n',
    "src/lib.rs": (
        "pub trait Speak { fn speak(&self) -> u8; }\npub trait Loud: Speak {}\npub struct Dog;\npub struct Cat<T>(T);\n"
        "impl Speak for Dog { fn speak(&self) -> u8 { bark() } }\n"
        "impl<T> crate::Speak for Cat<T> { fn speak(&self) -> u8 { assert!(bark() > 0); 1 } }\n"
        "impl Dog { fn speak_twice(&self) {} }\nfn bark() -> u8 { 1 }\nstatic F: fn() -> u8 = bark;\n"
    ),
}
REPOSITORIES = {"python": PYTHON, "typescript": TYPESCRIPT, "go": GO, "java": JAVA, "rust": RUST}


def opened(repo: Path, name: str) -> Door:
    write(repo, REPOSITORIES[name])
    return Door(open_test_workspace(repo), OPERATIONS)


def hits(door: Door, query: str, mode: str, **more: object) -> list[str]:
    """Return the hits as `path:line name how`."""
    found = result_of(call(door, "search", {"query": query, "mode": mode, **more}))["results"]
    return [f"{hit['path']}:{hit['line']}" + (f" {hit['matched']}" if hit.get("matched") else "") for hit in found]


def about(door: Door, query: str, mode: str, **more: object) -> str:
    return str(result_of(call(door, "search", {"query": query, "mode": mode, **more}))["about"])


@pytest.mark.parametrize(
    ("language", "mode", "query", "expected"),
    [
        ("python", "subclasses", "zoo/kinds/base.py::Animal", [
            "zoo/dogs.py:4 directly", "zoo/dogs.py:26 directly", "zoo/dogs.py:15 2 steps below",
            "zoo/dogs.py:42 2 steps below", "zoo/dogs.py:30 2 steps below", "zoo/dogs.py:34 2 steps below",
        ]),
        ("python", "subclasses", "other/dogs.py::Animal", ["other/dogs.py:6 directly"]),
        ("python", "subclasses", "Puppy", ["zoo/dogs.py:30 directly"]),
        ("python", "subclasses", "Mixed", []),
        ("python", "overrides", "zoo/kinds/base.py::Animal.speak", [
            "zoo/dogs.py:7 directly", "zoo/dogs.py:16 2 steps below", "zoo/dogs.py:43 2 steps below",
            "zoo/dogs.py:22 takes precedence in LoudWolf",
        ]),
        ("python", "overrides", "Animal.name", ["zoo/dogs.py:5 directly"]),
        ("python", "overrides", "zoo/kinds/base.py::Animal.__hidden", []),
        ("python", "overrides", "other/dogs.py::Animal.speak", []),
        ("python", "implementations", "zoo/kinds/base.py::Animal.speak", [
            "zoo/dogs.py:7 directly", "zoo/dogs.py:16 2 steps below", "zoo/dogs.py:43 2 steps below",
            "zoo/dogs.py:22 takes precedence in LoudWolf",
        ]),
        ("python", "callers", "feed", ["use/attribute.py:4", "zoo/dogs.py:8", "zoo/dogs.py:50", "zoo/dogs.py:53"]),
        ("python", "importers", "feed", [
            "use/attribute.py:1 through zoo/__init__.py, zoo/kinds/__init__.py",
            "zoo/dogs.py:1 through zoo/__init__.py, zoo/kinds/__init__.py",
            "zoo/__init__.py:1 through zoo/kinds/__init__.py",
        ]),
        ("python", "importers", "zoo/kinds/base.py", [
            "zoo/kinds/__init__.py:1 directly",
            "zoo/kinds/__init__.py:2 directly",
            "use/attribute.py:1 through zoo/__init__.py, zoo/kinds/__init__.py",
            "zoo/dogs.py:1 through zoo/__init__.py, zoo/kinds/__init__.py",
            "zoo/__init__.py:1 through zoo/kinds/__init__.py",
        ]),
        ("python", "importers", "use/attribute.py", []),
        ("python", "tests_of", "zoo/dogs.py", ["tests/test_dogs.py:1 uses what zoo/dogs.py defines"]),
        ("python", "tests_of", "zoo/dogs.py::Dog", ["tests/test_dogs.py:5 refers to it"]),
        ("python", "tests_of", "Überhund", []),
        ("typescript", "subclasses", "Shape", [
            "shape.ts:2 directly", "disc.ts:2 2 steps below", "disc.ts:3 3 steps below",
        ]),
        ("typescript", "implementations", "Shape", ["disc.ts:2 2 steps below", "disc.ts:3 3 steps below"]),
        ("typescript", "overrides", "Shape.area", ["disc.ts:2 2 steps below", "disc.ts:3 3 steps below"]),
        ("typescript", "importers", "shape.ts", ["all.ts:1 directly", "disc.ts:1 through index.ts, all.ts"]),
        ("typescript", "callers", "Disc", ["disc.ts:2", "shown.tsx:2"]),
        ("go", "implementations", "Store", ["store/memory.go:7 has all its methods"]),
        ("go", "implementations", "Named", [
            "store/memory.go:3 has all its methods", "store/memory.go:7 has all its methods",
            "store/memory.go:11 has all its methods",
        ]),
        ("go", "implementations", "Closing", []),
        ("go", "implementations", "store.Any", []),
        ("java", "implementations", "Shape", ["src/p/Base.java:2 directly", "src/p/Disc.java:2 2 steps below"]),
        ("java", "overrides", "Shape.area", ["src/p/Base.java:6 directly", "src/p/Disc.java:7 2 steps below"]),
        ("java", "overrides", "Shape.add", ["src/p/Base.java:7 directly"]),
        ("java", "overrides", "Base.own", []),
        ("java", "overrides", "Base.make", []),
        ("java", "overrides", "Base.twice", ["src/p/Disc.java:5 directly"]),
        ("java", "callers", "src/p/Disc.java::Disc", ["src/p/Disc.java:7"]),
        ("rust", "implementations", "Speak", ["src/lib.rs:5 impl Speak", "src/lib.rs:6 impl Speak"]),
        ("rust", "overrides", "Speak.speak", ["src/lib.rs:5 impl for Dog", "src/lib.rs:6 impl for Cat<T>"]),
        ("rust", "subclasses", "Speak", ["src/lib.rs:2 directly"]),
        ("rust", "callers", "bark", ["src/lib.rs:5", "src/lib.rs:6"]),
    ],
)  # fmt: skip
def test_the_hits_are_exactly_those_that_relate(
    repo: Path, language: str, mode: str, query: str, expected: list[str]
) -> None:
    assert hits(opened(repo, language), query, mode) == expected


@pytest.mark.parametrize(
    ("language", "mode", "query", "sentence"),
    [
        ("python", "subclasses", "zoo/kinds/base.py::Animal", "1 class has a base that could not be resolved"),
        ("python", "overrides", "zoo/kinds/base.py::Animal.speak", "resolved, such as Made (zoo/dogs.py:38)"),
        ("python", "overrides", "Puppy.speak", "It overrides Dog.speak (zoo/dogs.py:7), Animal.speak"),
        ("python", "callers", "zoo/kinds/base.py::Animal.speak", "Not listed: 3 calls of the name that could"),
        ("python", "callers", "Puppy.speak", "Calls of what it overrides may reach it too: Dog.speak"),
        ("python", "callers", "feed", "2 other uses"),
        ("python", "overrides", "feed", "is not a member of a class"),
        ("go", "implementations", "Store", "1 type has its methods in part or in another form, such as Wrong"),
        ("go", "implementations", "Closing", "io.Closer from outside: those methods are not checked"),
        ("go", "implementations", "store.Any", "has no known methods"),
        ("java", "implementations", "Shape", "Anonymous classes and lambdas are not listed."),
    ],
)  # fmt: skip
def test_the_answer_says_what_it_cannot_know(repo: Path, language: str, mode: str, query: str, sentence: str) -> None:
    assert sentence in about(opened(repo, language), query, mode)


@pytest.mark.parametrize(
    ("language", "mode", "query", "more"),
    [
        ("python", "subclasses", "zoo/kinds/base.py::Animal", ["zoo/dogs.py:38 may be: a base could not be resolved"]),
        (
            "python",
            "callers",
            "zoo/kinds/base.py::Animal.speak",
            [
                "tests/test_dogs.py:5",
                "zoo/dogs.py:52",
                "zoo/kinds/base.py:18",
            ],
        ),
        ("go", "implementations", "Store", ["store/memory.go:11 may be: may have all its methods"]),
    ],
)
def test_certainty_all_adds_what_is_not_sure(repo: Path, language: str, mode: str, query: str, more: list[str]) -> None:
    door = opened(repo, language)
    assert hits(door, query, mode, certainty="all") == [*hits(door, query, mode), *more]


def test_a_call_names_the_definition_it_is_in(repo: Path) -> None:
    text = call(opened(repo, "python"), "search", {"query": "feed", "mode": "callers"}).text()
    assert " 8: " in text
    assert "feed(self)  [Dog.speak]" in text


def test_pages_together_are_the_whole_answer(repo: Path) -> None:
    door = opened(repo, "python")
    asked = {"query": "zoo/kinds/base.py::Animal", "mode": "subclasses", "limit": 4}
    first = result_of(call(door, "search", asked))
    cursor = first["pagination"]["next_cursor"]
    second = result_of(call(door, "search", {**asked, "cursor": cursor}))
    lines = [hit["line"] for hit in first["results"] + second["results"]]
    assert lines == [4, 26, 15, 42, 30, 34]
    assert first["pagination"]["total_estimate"] == 6
    assert second["pagination"].get("next_cursor") is None
    write(repo, {"zoo/more.py": "from zoo import Animal\n\n\nclass Ant(Animal):\n    pass\n"})
    assert error_of(call(door, "search", {**asked, "cursor": cursor})) == "CURSOR_EXPIRED"


def test_a_name_with_many_definitions_is_answered_with_the_list(repo: Path) -> None:
    write(repo, {f"m{i}.py": "class Same:\n    pass\n" for i in range(5)})
    door = Door(open_test_workspace(repo), OPERATIONS)
    assert "has 5 definitions; search for one of them" in about(door, "Same", "subclasses")


def test_a_language_without_links_says_that_bases_are_not_known(repo: Path) -> None:
    write(repo, {"a.kt": "open class A\nclass B : A()\n"})
    door = Door(open_test_workspace(repo), OPERATIONS)
    assert hits(door, "A", "subclasses") == []
    assert "bases of kotlin classes are not known" in about(door, "A", "subclasses")


def test_a_class_that_lacks_the_member_raises_no_doubt_about_its_overrides(repo: Path) -> None:
    assert "Possibly incomplete" not in about(opened(repo, "python"), "Animal.name", "overrides")
