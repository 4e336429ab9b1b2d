"""Which of several methods a call means by the number of its arguments."""

import pytest

from codeplane.languages.facts import CALLED, DefinitionKind
from codeplane.languages.java.overloads import Parameters, choose_method, read_parameters
from codeplane.languages.linking import Choice, MethodOffer, OpenType

SUB, BASE, FACE = (0, 0), (0, 1), (0, 2)
ABOVE = {SUB: frozenset({BASE, FACE}), BASE: frozenset[tuple[int, int]](), FACE: frozenset[tuple[int, int]]()}


@pytest.mark.parametrize(
    ("signature", "types", "is_variadic"),
    [
        ("()", (), False),
        ("(): void", (), False),
        ("(int i)", ("int",), False),
        ("(final int i, String s): A<B, C>", ("int", "String"), False),
        ("(Map<String, List<A>> m, int[] xs, int ys[])", ("Map<String,List<A>>", "int[]", "int[]"), False),
        ('(@A(x = {1, 2}, y = ")") @B final C c) throws D', ("C",), False),
        ("(int i, String... rest)", ("int", "String..."), True),
        ("(Outer this, int i)", ("int",), False),
    ],
)
def test_parameters_are_read_from_a_signature(signature: str, types: tuple[str, ...], is_variadic: bool) -> None:
    assert read_parameters(signature) == Parameters(types, is_variadic)


@pytest.mark.parametrize("signature", ["", "extends A", "(int i", "(((("])
def test_what_is_no_list_of_parameters_is_not_read(signature: str) -> None:
    assert read_parameters(signature) is None


def chosen(n_arguments: int, *offers: str, name: str = "f", open_types: tuple[OpenType, ...] = ()) -> int | None:
    """Choose between offers written as `holder signature`, with `@` before the signature for an override."""
    kinds = {"sub": (SUB, DefinitionKind.CLASS), "base": (BASE, DefinitionKind.CLASS),
             "face": (FACE, DefinitionKind.INTERFACE), "enum": (BASE, DefinitionKind.ENUM)}  # fmt: skip
    made = []
    for offer in offers:
        word, _, signature = offer.partition(" ")
        holder, kind = kinds[word]
        decorators = ("Override",) if signature.startswith("@") else ()
        made.append(MethodOffer(signature.removeprefix("@"), decorators, holder, kind, ABOVE[holder]))
    return choose_method(Choice(name, tuple(made), n_arguments, open_types))


def test_the_number_of_arguments_leaves_one() -> None:
    assert chosen(2, "sub (int a)", "sub (int a, int b)") == 1
    assert chosen(1, "sub (int a)", "sub (String a)") is None
    assert chosen(3, "sub (int a)") is None
    assert chosen(0, "sub (int... a)", "sub ()") == 1
    assert chosen(1, "sub (int a)", "sub (int... a)") is None
    assert chosen(CALLED, "sub (int a)") == 0
    assert chosen(CALLED, "sub (int a)", "sub ()") is None


def test_what_is_overridden_is_not_meant() -> None:
    assert chosen(1, "sub (int a)", "base (int b)") == 0
    assert chosen(1, "sub (int a)", "base (T b)") is None
    assert chosen(1, "sub @(int a)", "base (T b)") == 0
    assert chosen(1, "sub @(int a)", "base (T b)", "base (String b)") is None
    assert chosen(1, "base (int a)", "face (int b)") == 0


def test_what_is_not_seen_may_have_another() -> None:
    extends = (OpenType(DefinitionKind.CLASS, "extends A implements B", 0),)
    implements = (OpenType(DefinitionKind.CLASS, "extends A implements B", 1),)
    assert chosen(1, "sub (int a)", open_types=extends) is None
    assert chosen(1, "sub (int a)", open_types=implements) == 0
    assert chosen(1, "sub @(int a)", open_types=implements) is None
    assert chosen(0, "sub @()", open_types=extends) == 0
    assert chosen(1, "sub (A a)", name="equals") is None
    assert chosen(1, "sub (Object a)", name="equals") == 0
    assert chosen(1, "enum (int a)", name="valueOf") is None
