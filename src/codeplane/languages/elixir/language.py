"""Elixir."""

import re
from types import MappingProxyType
from typing import Final

import tree_sitter_elixir
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.elixir.patterns import names_in, operator_of
from codeplane.languages.facts import NONE, THIS, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import child, opens
from codeplane.languages.tables.comments import HASHES
from codeplane.languages.tables.rules import (
    BLOCK,
    FILE,
    FUNCTION,
    LAMBDA,
    MEMBER,
    MODULE,
    SKIP,
    TAG,
    TYPE,
    VALUE,
    Action,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named
from codeplane.languages.tables.walking import AS_TAG, IGNORED, UNBOUND, Walk

_GRAMMAR: Final = Grammar(tree_sitter_elixir.language())
_FUNCTIONS: Final = MappingProxyType(
    {
        "def": DefinitionKind.FUNCTION,
        "defp": DefinitionKind.FUNCTION,
        "defn": DefinitionKind.FUNCTION,
        "defnp": DefinitionKind.FUNCTION,
        "defdelegate": DefinitionKind.FUNCTION,
        "defguard": DefinitionKind.MACRO,
        "defguardp": DefinitionKind.MACRO,
        "defmacro": DefinitionKind.MACRO,
        "defmacrop": DefinitionKind.MACRO,
    }
)
_IMPORTS: Final = frozenset({"alias", "import", "require", "use"})
_TYPES: Final = frozenset({"type", "typep", "opaque"})
# Attributes that say something about what follows and are no constants.
_NOTES: Final = frozenset(
    {
        *("after_compile", "before_compile", "behaviour", "callback", "compile", "deprecated", "derive", "dialyzer"),
        *("doc", "enforce_keys", "external_resource", "impl", "macrocallback", "moduledoc", "on_load", "opaque"),
        *("optional_callbacks", "spec", "type", "typedoc", "typep"),
    }
)
_CLAUSE_WORDS: Final = frozenset({"do", "else", "rescue", "catch", "after"})
_KEYWORD: Final = re.compile(r"([A-Za-z_]\w*[?!]?):")
_PART: Final = re.compile(r"\w+")
_DO: Final = child("do_block")


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of an Elixir file."""
    return extract_symbols(source, _RULES, clock)


def _meet_call(walk: Walk, node: Node) -> None:
    target = node.child_by_field_name("target")
    if target is None or target.type != "identifier":
        return
    # With arguments it is a function or a macro, whatever variables there are.
    walk.marks.setdefault(target.start_byte, UNBOUND)
    word = walk.cut(target)
    arguments = child("arguments")(node)
    if word in _FUNCTIONS:
        _meet_function(walk, node, target, arguments, _FUNCTIONS[word])
    elif word in _IMPORTS:
        _meet_import(walk, node, arguments, word)
    elif word in _CALLS:
        _CALLS[word](walk, node)


def _meet_module(kind: DefinitionKind) -> Action:
    def meet(walk: Walk, node: Node) -> None:
        arguments, body = child("arguments")(node), _DO(node)
        name = first_named(arguments) if arguments is not None else None
        if name is None or name.type != "alias" or body is None:
            return
        path = walk.cut(name)
        walk.merged.add(body.start_byte)
        scope = walk.open_scope(MODULE, *body.byte_range, path)
        last = path.rpartition(".")[2]
        walk.define(
            *(kind, (name.end_byte - len(last.encode()), name.end_byte), node.byte_range),
            path=walk.path_of(path),
            body_scope=scope,
            is_bound=last == path,
            visible_from=0,
        )
        walk.package = walk.package or path

    return meet


def _meet_implementation(walk: Walk, node: Node) -> None:
    arguments, body = child("arguments")(node), _DO(node)
    name = first_named(arguments) if arguments is not None else None
    if name is not None and name.type == "alias" and body is not None:
        walk.merged.add(body.start_byte)
        walk.open_scope(MODULE, *body.byte_range, walk.cut(name))


def _meet_function(walk: Walk, node: Node, word: Node, arguments: Node | None, kind: DefinitionKind) -> None:  # noqa: ARG001 - the signature of an action
    """Define a function; its further clauses with as many parameters belong to it."""
    head = first_named(arguments) if arguments is not None else None
    if head is not None and head.type == "binary_operator" and operator_of(head) == "when":
        head = head.child_by_field_name("left")
    name = head.child_by_field_name("target") if head is not None and head.type == "call" else head
    if head is None or name is None or name.type != "identifier":
        return
    parameters = child("arguments")(head) if head.type == "call" else None
    body = _DO(node)
    if body is not None:
        walk.merged.add(body.start_byte)
    text = walk.cut(name)
    home = walk.binding_scope()
    scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, text)
    n_parameters = parameters.named_child_count if parameters is not None else 0
    known = walk.notes.get((home, text, n_parameters), NONE)
    if known == NONE:
        known = walk.define(
            *(kind, name.byte_range, node.byte_range),
            body_scope=scope,
            signature=walk.folded(*parameters.byte_range) if parameters is not None else "",
            space=TAG,
        )
        walk.notes[home, text, n_parameters] = known
        _take_documentation(walk, known)
    else:
        walk.definitions[known] = walk.definitions[known]._replace(end=node.end_byte)
        walk.marks[name.start_byte] = known
    if parameters is not None:
        _bind_pattern(walk, parameters, parameters, scope, DefinitionKind.PARAMETER)


def _bind_pattern(
    walk: Walk,
    pattern: Node,
    node: Node,
    scope: int,
    kind: DefinitionKind = DefinitionKind.VARIABLE,
    visible_from: int = 0,
) -> None:
    """Define the variables of a pattern; one that stands there twice is one variable."""
    seen: set[str] = set()
    for name in names_in(walk, pattern):
        text = walk.cut(name)
        # A match inside of a pattern has been met with the pattern.
        if text not in seen and name.start_byte not in walk.marks:
            seen.add(text)
            path = walk.scopes[scope].path
            walk.define(
                *(kind, name.byte_range, name.byte_range if pattern is node else node.byte_range),
                scope=scope,
                path=f"{path}.{text}" if path else text,
                visible_from=visible_from,
            )


def _meet_import(walk: Walk, node: Node, arguments: Node | None, word: str) -> None:
    named = first_named(arguments) if arguments is not None else None
    if arguments is None or named is None:
        return
    kind = f"elixir_{word}"
    if named.type == "dot":
        _meet_several_imports(walk, node, named, kind)
    elif named.type == "alias":
        alias = _alias_in(walk, arguments)
        source = walk.cut(named)
        local = alias or (source.rpartition(".")[2] if word == "alias" else "")
        last = source.rpartition(".")[2]
        walk.add_import(
            *(kind, node.byte_range, source),
            imported_name="*" if word == "import" else None,
            alias=local or None,
            local_name=local,
            names=[named.end_byte - len(last.encode())],
        )
        walk.marks.setdefault(named.start_byte, UNBOUND)


def _meet_several_imports(walk: Walk, node: Node, named: Node, kind: str) -> None:
    """Add the imports of `alias A.{B, C}`."""
    prefix, names = named.child_by_field_name("left"), named.child_by_field_name("right")
    if prefix is None or names is None:
        return
    walk.marks.setdefault(prefix.start_byte, UNBOUND)
    for each in names.named_children:
        if each.type == "alias":
            last = walk.cut(each).rpartition(".")[2]
            is_alias = kind == "elixir_alias"
            walk.add_import(
                *(kind, node.byte_range, f"{walk.cut(prefix)}.{walk.cut(each)}"),
                imported_name="*" if kind == "elixir_import" else None,
                alias=last if is_alias else None,
                local_name=last if is_alias else "",
                names=[each.end_byte - len(last.encode())],
            )


def _alias_in(walk: Walk, arguments: Node) -> str:
    """Return the name after `as:`."""
    keywords = child("keywords")(arguments)
    for pair in keywords.named_children if keywords is not None else ():
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is not None and value is not None and value.type == "alias" and walk.cut(key).strip() == "as:":
            return walk.cut(value)
    return ""


def _meet_struct(walk: Walk, node: Node) -> None:
    target, arguments = node.child_by_field_name("target"), child("arguments")(node)
    if target is None or arguments is None:
        return
    walk.define(DefinitionKind.STRUCT, target.byte_range, node.byte_range, is_bound=False)
    waiting = arguments.named_children[::-1]
    while waiting:
        each = waiting.pop()
        if each.type == "atom":
            walk.define(DefinitionKind.FIELD, (each.start_byte + 1, each.end_byte), each.byte_range, is_bound=False)
        elif each.type == "pair":
            key = each.child_by_field_name("key")
            found = _KEYWORD.match(walk.bytewise, key.start_byte) if key is not None else None
            if found is not None:
                walk.define(DefinitionKind.FIELD, found.span(1), each.byte_range, is_bound=False)
        elif each.type in {"list", "keywords"}:
            waiting.extend(reversed(each.named_children))


def _meet_loop(walk: Walk, node: Node) -> None:
    """Open the scope of `for` and `with`, whose steps bind names for the later ones."""
    walk.open_scope(BLOCK, *node.byte_range)
    body = _DO(node)
    if body is not None:
        walk.merged.add(body.start_byte)


def _meet_quote(walk: Walk, node: Node) -> None:
    """In quoted code names are not those around it, but for what is unquoted."""
    body = _DO(node)
    if body is not None:
        walk.merged.add(body.start_byte)
        walk.notes["quote", walk.open_scope(FUNCTION, *body.byte_range)] = 1


def _meet_unquote(walk: Walk, node: Node) -> None:
    arguments = child("arguments")(node)
    scope = walk.scope
    while scope != NONE and ("quote", scope) not in walk.notes:
        scope = walk.scopes[scope].parent
    if arguments is not None and scope != NONE:
        walk.set_aside(scope, *arguments.byte_range)


def _meet_operator(walk: Walk, node: Node) -> None:
    sign = operator_of(node)
    if sign in {"=", "<-"}:
        left = node.child_by_field_name("left")
        if left is not None:
            _bind_pattern(walk, left, node, walk.scope, visible_from=node.end_byte)


def _meet_unary(walk: Walk, node: Node) -> None:
    sign, operand = operator_of(node), node.child_by_field_name("operand")
    if operand is None:
        return
    if sign == "@":
        _meet_attribute(walk, node, operand)
    elif sign == "&" and operand.type == "binary_operator":
        name = operand.child_by_field_name("left")
        if name is not None and name.type == "identifier" and operator_of(operand) == "/":
            walk.marks[name.start_byte] = UNBOUND


def _meet_attribute(walk: Walk, node: Node, operand: Node) -> None:
    """Define a module attribute where it is set; where it is read it is looked up as one."""
    if operand.type == "identifier":
        walk.marks[operand.start_byte] = AS_TAG
        return
    name, arguments = operand.child_by_field_name("target"), child("arguments")(operand)
    if operand.type != "call" or name is None or name.type != "identifier" or arguments is None:
        return
    text = walk.cut(name)
    value = first_named(arguments)
    if text == "doc" and value is not None and value.type == "string":
        walk.notes["doc",] = value.start_byte
        walk.notes["end of doc",] = value.end_byte
    if text in _TYPES and value is not None:
        _define_type(walk, node, value)
    if text in _NOTES:
        walk.marks[name.start_byte] = IGNORED
    else:
        walk.define(DefinitionKind.CONSTANT, name.byte_range, node.byte_range, space=TAG)


def _define_type(walk: Walk, node: Node, value: Node) -> None:
    name = value.child_by_field_name("left") if value.type == "binary_operator" else None
    if name is not None and name.type == "call":
        name = name.child_by_field_name("target")
    if name is not None and name.type == "identifier":
        walk.define(DefinitionKind.TYPE, name.byte_range, node.byte_range, is_bound=False)


def _take_documentation(walk: Walk, number: int) -> None:
    """Give a function the text of the `@doc` before it."""
    start, end = walk.notes.pop(("doc",), NONE), walk.notes.pop(("end of doc",), NONE)
    if start != NONE:
        text = walk.text.cut(start, min(end, start + 4_000)).strip('"')
        paragraph = re.split(r"\n[ \t]*\n", text.strip(), maxsplit=1)[0]
        walk.definitions[number] = walk.definitions[number]._replace(documentation=" ".join(paragraph.split()))


def _meet_anonymous_function(walk: Walk, node: Node) -> None:
    for clause in node.named_children:
        walk.notes["parameters", clause.start_byte] = 1


def _meet_clause(walk: Walk, node: Node) -> None:
    is_function = walk.notes.pop(("parameters", node.start_byte), 0) == 1
    scope = walk.open_scope(LAMBDA if is_function else BLOCK, *node.byte_range)
    left = node.child_by_field_name("left")
    if left is not None:
        kind = DefinitionKind.PARAMETER if is_function else DefinitionKind.VARIABLE
        _bind_pattern(walk, left, left, scope, kind)


def _take_alias(walk: Walk, node: Node) -> int:
    """Take each part of `A.B.C` as a name of its own."""
    for found in _PART.finditer(walk.bytewise, *node.byte_range):
        walk.take(*found.span(), TYPE)
    return SKIP


def _take_keyword(walk: Walk, node: Node) -> int:
    found = _KEYWORD.match(walk.bytewise, node.start_byte)
    if found is not None and found[1] not in _CLAUSE_WORDS:
        walk.take(*found.span(1), MEMBER)
    return SKIP


def _take_atom(walk: Walk, node: Node) -> int:
    if node.start_byte + 1 in walk.marks:
        walk.take(node.start_byte + 1, node.end_byte, VALUE)
    return SKIP


_CALLS: Final = MappingProxyType(
    {
        "defmodule": _meet_module(DefinitionKind.MODULE),
        "defprotocol": _meet_module(DefinitionKind.INTERFACE),
        "defimpl": _meet_implementation,
        "defstruct": _meet_struct,
        "defexception": _meet_struct,
        "for": _meet_loop,
        "with": _meet_loop,
        "quote": _meet_quote,
        "unquote": _meet_unquote,
        "unquote_splicing": _meet_unquote,
    }
)
_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "identifier": VALUE,
            "alias": _take_alias,
            "keyword": _take_keyword,
            "atom": _take_atom,
            "call": _meet_call,
            "binary_operator": _meet_operator,
            "unary_operator": _meet_unary,
            "anonymous_function": _meet_anonymous_function,
            "stab_clause": _meet_clause,
            "do_block": opens(BLOCK),
            "else_block": opens(BLOCK),
            "after_block": opens(BLOCK),
            "rescue_block": opens(BLOCK),
            "catch_block": opens(BLOCK),
            "comment": SKIP,
        },
    ),
    Scoping(
        ordered=frozenset({FILE, FUNCTION, LAMBDA, BLOCK}),
        closed_to_values=frozenset({FUNCTION, MODULE}),
        types_are_values=False,
    ),
    words=MappingProxyType({"__MODULE__": THIS}),
    comments=HASHES,
    type_kinds=frozenset({DefinitionKind.MODULE, DefinitionKind.INTERFACE}),
)
LANGUAGE: Final = Language("elixir", Depth.SYMBOLS, extract)
