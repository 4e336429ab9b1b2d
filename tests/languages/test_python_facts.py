"""What the Python extractor writes down besides the meaning of names."""

import pytest

from codeplane.languages.facts import Certainty, Definition, DefinitionKind, ReferenceRole
from codeplane.languages.python import imports
from codeplane.languages.python.extract import extract as extract_rows
from languages.reading import ReadFacts, ReadReference, Span


def extract(source: bytes) -> ReadFacts:
    return ReadFacts(extract_rows(source), source)


def definitions_of(source: str) -> list[tuple[str, str]]:
    return [(one.kind.label, one.lexical_path) for one in extract(source.encode()).definitions]


def definition(source: str, path: str) -> Definition:
    return next(one for one in extract(source.encode()).definitions if one.lexical_path == path)


def references_of(facts: ReadFacts, name: str) -> list[ReadReference]:
    return [one for one in facts.references if one.name == name]


def test_definitions_have_kind_and_dotted_path() -> None:
    source = (
        "LIMIT = 1\nname = 2\nclass A:\n    SIZE = 3\n    @property\n    def p(self): pass\n"
        "    def m(self, x):\n        def inner(): pass\n        y = 1\ndef f(): pass\ntype T = int\n"
    )
    assert definitions_of(source) == [
        ("constant", "LIMIT"),
        ("variable", "name"),
        ("class", "A"),
        ("constant", "A.SIZE"),
        ("property", "A.p"),
        ("parameter", "A.p.self"),
        ("method", "A.m"),
        ("parameter", "A.m.self"),
        ("parameter", "A.m.x"),
        ("function", "A.m.inner"),
        ("variable", "A.m.y"),
        ("function", "f"),
        ("type", "T"),
    ]


@pytest.mark.parametrize(
    "decorator", ["property", "functools.cached_property", "cached_property", "p.setter", "abc.abstractproperty"]
)
def test_property_decorators_make_properties(decorator: str) -> None:
    assert definition(f"class A:\n    @{decorator}\n    def p(self): pass\n", "A.p").kind is DefinitionKind.PROPERTY


def test_a_variable_is_defined_once_per_scope() -> None:
    assert definitions_of("x = 1\nx = 2\nfor x in y: pass\n") == [("variable", "x")]


def test_self_attributes_belong_to_the_class_and_are_defined_once() -> None:
    source = (
        "class A:\n    z = 0\n    def m(self):\n        self.x = 1\n        self.x = 2\n        self.z = 3\n"
        "        self.a, self.b = 1, 2\n        other.c = 4\n        self.d: int = 5\n"
    )
    facts = extract(source.encode())
    members = [one for one in facts.definitions if one.scope == 1 and one.kind is DefinitionKind.VARIABLE]
    assert [one.lexical_path for one in members] == ["A.z", "A.x", "A.a", "A.b", "A.d"]
    assert [one.role.label for one in references_of(facts, "x")] == ["DEFINITION", "REFERENCE"]
    assert not [bind for bind in facts.binds if bind.name == "x"]


def test_static_methods_have_no_self() -> None:
    assert ("variable", "A.x") not in definitions_of("class A:\n    @staticmethod\n    def m(o):\n        o.x = 1\n")


def test_signatures_are_folded_and_without_comments() -> None:
    source = "def f(\n    a,  # first\n    b='#',\n    *,\n    c: int = 1,\n) -> dict[\n    str, int\n]: pass\n"
    assert definition(source, "f").signature == "(a, b='#', *, c: int = 1,) -> dict[str, int]".replace(",)", ")")


def test_signature_of_a_class_is_its_bases() -> None:
    assert definition("class A(B, metaclass=M): pass\n", "A").signature == "(B, metaclass=M)"
    assert definition("class A: pass\n", "A").signature == ""


def test_type_parameters_are_part_of_the_signature() -> None:
    assert definition("def f[T](a: T): pass\n", "f").signature == "[T](a: T)"


def test_decorators_are_listed_in_order() -> None:
    assert definition("@a\n@b.c(\n  1)\ndef f(): pass\n", "f").decorators == ("a", "b.c(1)")


def test_documentation_is_the_first_paragraph() -> None:
    source = 'def f():\n    """Do it\n    well.\n\n    More.\n    """\n'
    assert definition(source, "f").documentation == "Do it well."
    assert definition('def f():\n    "a" + b\n', "f").documentation == ""


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ('"""Say "a" or ""b.\n\n    More.\n    """', 'Say "a" or ""b.'),
        ("'''It's \\''' here.'''", "It's \\''' here."),
        ('r"A \\" b."', 'A \\" b.'),
        ("'One \\\\'", "One \\\\"),
    ],
)
def test_documentation_may_hold_quotes(literal: str, text: str) -> None:
    assert definition(f"def f():\n    {literal}\n", "f").documentation == text


def test_a_definition_ends_before_a_trailing_comment() -> None:
    source = "def f():\n    if a:\n        b\n        # done\n    # and out\nx = 1\n"
    one = definition(source, "f")
    assert (one.start, one.end) == (0, source.index("b") + 1)


def test_receivers_are_the_text_before_the_dot() -> None:
    source = "a.b.c(\n  d,\n).e[0].f\nself.g\n'x'.join\n(h\n .i)\nk. \\\n  l\n"
    receivers = {one.name: one.receiver for one in extract(source.encode()).references}
    assert receivers == {
        "a": None,
        "b": "a",
        "c": "a.b",
        "d": None,
        "e": "…",
        "f": "…",
        "self": None,
        "g": "self",
        "join": "…",
        "h": None,
        "i": "h",
        "k": None,
        "l": "k",
    }


def test_a_call_of_super_is_a_receiver_of_its_own() -> None:
    source = b"class A(B):\n    def m(self):\n        super().m()\n        my_super().n\n        x.super().o\n"
    receivers = {one.name: one.receiver for one in extract(source).references}
    assert (receivers["m"], receivers["n"], receivers["o"]) == ("super()", "…", "…")


def test_bases_are_the_references_that_name_them() -> None:
    source = "class A(B, c.D, E[int], f(), metaclass=G): pass\n"
    assert definition(source, "A").bases == (8, 13, 16, -1)


def test_the_first_parameter_of_a_method_is_an_instance_unless_assigned() -> None:
    source = (
        "class A:\n    def m(self): pass\n    def n(self):\n        self = 1\n    @staticmethod\n    def s(x): pass\n"
    )
    found = {one.lexical_path: one.instance_of for one in extract(source.encode()).definitions}
    assert (found["A.m.self"], found["A.n.self"], found["A.s.x"]) == (0, -1, -1)


def test_keyword_arguments_have_the_call_as_receiver() -> None:
    assert references_of(extract(b"f(a=1)\n"), "a")[0].receiver == "()"


def test_spans_count_bytes() -> None:
    facts = extract("s = 'ä'; é = s\n".encode())
    assert references_of(facts, "é")[0].span == Span(1, 10, 1, 12)
    assert references_of(facts, "s")[1].span == Span(1, 15, 1, 16)


def test_imports_say_source_name_and_alias() -> None:
    source = "import a.b\nimport c.d as e\nfrom ..f.g import h, i as j\nfrom . import k\nfrom l import *\n"
    found = [
        (one.kind, one.source, one.imported_name, one.alias, imports.local_name(one))
        for one in extract(source.encode()).imports
    ]
    assert found == [
        ("python_import", "a.b", None, None, "a"),
        ("python_import", "c.d", None, "e", "e"),
        ("python_from", "..f.g", "h", None, "h"),
        ("python_from", "..f.g", "i", "j", "j"),
        ("python_from", ".", "k", None, "k"),
        ("python_from", "l", "*", None, "*"),
    ]


def test_each_identifier_of_an_import_is_a_reference() -> None:
    facts = extract(b"from ..f.g import h as i\nimport a.b\n")
    assert {(one.name, one.receiver, one.bind) for one in facts.references} == {
        ("f", "()", None),
        ("g", "().f", None),
        ("h", None, 0),
        ("i", None, 0),
        ("a", None, 1),
        ("b", "a", None),
    }
    assert {one.role for one in facts.references} == {ReferenceRole.IMPORT}


@pytest.mark.parametrize(
    ("source", "conditional"),
    [
        ("import a\n", False),
        ("x = 1; import a\n", False),
        ("if x: import a\n", True),
        ("if TYPE_CHECKING:\n    import a\n", True),
        ("try:\n    import a\nexcept ImportError:\n    pass\n", True),
        ("def f():\n    import a\n", True),
        ("class A:\n    if x:\n        import a\n", True),
    ],
)
def test_imports_in_blocks_and_functions_are_conditional(source: str, conditional: bool) -> None:
    (found,) = extract(source.encode()).imports
    assert found.is_conditional is conditional
    assert found.certainty is Certainty.CERTAIN


def test_imports_with_a_fallback_are_uncertain() -> None:
    facts = extract(b"try:\n    import a\nexcept ImportError:\n    import b as a\n")
    assert [one.certainty for one in facts.imports] == [Certainty.UNCERTAIN] * 2
    assert [one.certainty for one in facts.binds] == [Certainty.UNCERTAIN] * 2


@pytest.mark.parametrize(
    ("source", "names", "certainty", "evidence"),
    [
        ("__all__ = ['a', \"b\"]\n", ("a", "b"), Certainty.CERTAIN, "__all__literal"),
        ("__all__ = 'a', 'b'\n", ("a", "b"), Certainty.CERTAIN, "__all__literal"),
        ("__all__ = (\n  'a',  # one\n)\n", ("a",), Certainty.CERTAIN, "__all__literal"),
        ("__all__: list[str] = ['a']\n", ("a",), Certainty.CERTAIN, "__all__literal"),
        ("__all__ += ['a']\n", ("a",), Certainty.CERTAIN, "__all__literal"),
        ("__all__.extend(['a'])\n", ("a",), Certainty.CERTAIN, "__all__literal"),
        ("__all__.append('a')\n", ("a",), Certainty.CERTAIN, "__all__literal"),
        ("__all__ = ['a'] + m.__all__\n", ("a",), Certainty.UNCERTAIN, "__all__computed"),
        ("__all__ = [n for n in dir()]\n", (), Certainty.UNCERTAIN, "__all__computed"),
        ("__all__ += m.__all__\n", (), Certainty.UNCERTAIN, "__all__computed"),
        ("__all__.extend(m.__all__)\n", (), Certainty.UNCERTAIN, "__all__computed"),
        ("__all__.remove('a')\n", (), Certainty.UNCERTAIN, "__all__computed"),
        ("if x:\n    __all__ = ['a']\n", ("a",), Certainty.UNCERTAIN, "__all__conditional"),
        ("__all__ = ['a' 'b', *c]\n", (), Certainty.UNCERTAIN, "__all__computed"),
    ],
)
def test_export_lists(source: str, names: tuple[str, ...], certainty: Certainty, evidence: str) -> None:
    found = extract(source.encode()).exports
    assert tuple(one.name for one in found if one.name) == names
    assert {(one.certainty, one.evidence) for one in found} == {(certainty, evidence)}
    assert any(not one.name for one in found) is (evidence == "__all__computed")


def test_export_entries_are_references_inside_the_string() -> None:
    facts = extract(b"__all__ = ['f']\ndef f(): pass\n")
    entry = next(one for one in facts.references if one.role is ReferenceRole.EXPORT)
    assert (entry.name, entry.span) == ("f", Span(1, 12, 1, 13))
    assert entry.bind is not None
    assert facts.definitions[facts.binds[entry.bind].target].name == "f"


def test_reading_all_exports_nothing() -> None:
    assert extract(b"for name in __all__: pass\ndef f():\n    __all__ = ['x']\n").exports == []


@pytest.mark.parametrize(
    ("source", "pattern", "literals", "non_literal"),
    [
        ("getattr(o, 'a')", "getattr", ("a",), False),
        ("getattr(o, n, None)", "getattr", (), True),
        ("setattr(o, 'a', 1)", "setattr", ("a",), False),
        ("hasattr(o, f'a{n}')", "hasattr", (), True),
        ("delattr(o, 'a')", "delattr", ("a",), False),
        ("eval('x')", "eval", ("x",), False),
        ("exec(code)", "exec", (), True),
        ("globals()['x']", "globals", ("x",), False),
        ("globals()[n]", "globals", (), True),
        ("locals()", "locals", (), True),
        ("vars(o)['x']", "vars", ("x",), False),
        ("o.__dict__['x']", "bracket_access", ("x",), False),
        ("__import__('m')", "__import__", ("m",), False),
        ("importlib.import_module(n)", "import_module", (), True),
        ("map(getattr, a, b)", "getattr", (), True),
    ],
)
def test_dynamic_access(source: str, pattern: str, literals: tuple[str, ...], non_literal: bool) -> None:
    (found,) = extract(source.encode()).dynamic
    assert (found.pattern, found.literals, found.has_non_literal_key) == (pattern, literals, non_literal)


def test_own_functions_called_like_builtins_are_not_dynamic() -> None:
    assert extract(b"def vars(): pass\nvars()\ndef f(locals):\n    locals()\n").dynamic == []


def test_import_module_is_dynamic_only_from_importlib() -> None:
    assert len(extract(b"from importlib import import_module\nimport_module('a')\n").dynamic) == 1
    assert extract(b"from mine import import_module\nimport_module('a')\n").dynamic == []


def test_everything_is_sorted_by_position() -> None:
    source = b"__all__ = ['f', 'g']\n@d\ndef f(a, b=[i for i in x]):\n    global g\n    g = lambda y: y\nimport os\n"
    facts = extract_rows(source)
    for starts in (
        [row[0] for row in facts.references],
        [one.name_start for one in facts.definitions],
        [one.start for one in facts.imports],
        [one.start for one in facts.dynamic],
    ):
        assert starts == sorted(starts)
    assert facts == extract_rows(source)
