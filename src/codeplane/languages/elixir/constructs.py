"""The constructs of Elixir that a pattern cannot express."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, DefinitionKind
from codeplane.languages.nodes import child_of_kind, first_named
from codeplane.languages.queries.patterns import SKIP, Match
from codeplane.languages.queries.rules import BLOCK, FUNCTION, LAMBDA, MEMBER, MODULE, TAG, TYPE
from codeplane.languages.queries.walking import IGNORED, UNBOUND, Walk

_TYPES: Final = frozenset({"type", "typep", "opaque"})
# Attributes that say something about what follows and are not constants.
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
_CONTAINERS: Final = frozenset({"list", "tuple", "map", "map_content", "keywords", "bitstring", "arguments", "block"})
# Of these only the left side is a pattern.
_LEFT_ONLY: Final = frozenset({"\\\\", "::", "in", "when", "<-"})


def meet_call(walk: Walk, match: Match) -> None:
    """Do what the word means; with arguments it is a function or a macro, whatever variables there are."""
    walk.marks.setdefault(match["word"].start_byte, UNBOUND)
    act = _CALLS.get(walk.cut(match["word"]))
    if act is not None:
        act(walk, match)


def _first_argument(match: Match) -> Node | None:
    arguments = match.get("arguments")
    return first_named(arguments) if arguments is not None else None


def _declare_module(walk: Walk, match: Match) -> None:
    """Define a module or a protocol under the last part of its name."""
    name, body = _first_argument(match), match.get("body")
    if name is None or name.type != "alias" or body is None:
        return
    path = walk.cut(name)
    walk.merged.add(body.start_byte)
    scope = walk.open_scope(MODULE, *body.byte_range, path)
    last = path.rpartition(".")[2]
    is_protocol = walk.cut(match["word"]) == "defprotocol"
    walk.define(
        DefinitionKind.INTERFACE if is_protocol else DefinitionKind.MODULE,
        (name.end_byte - len(last.encode()), name.end_byte),
        match.node.byte_range,
        path=walk.path_of(path),
        body_scope=scope,
        is_bound=last == path,
        visible_from=0,
    )
    walk.package = walk.package or path


def _open_implementation(walk: Walk, match: Match) -> None:
    """Open the members of an implementation of a protocol."""
    name, body = _first_argument(match), match.get("body")
    if name is not None and name.type == "alias" and body is not None:
        walk.merged.add(body.start_byte)
        walk.open_scope(MODULE, *body.byte_range, walk.cut(name))


def _declare_function(walk: Walk, match: Match) -> None:
    """Define a function; its further clauses with as many parameters belong to it."""
    node, body = match.node, match.get("body")
    head = _first_argument(match)
    if head is not None and head.type == "binary_operator" and _operator_of(head) == "when":
        head = head.child_by_field_name("left")
    name = head.child_by_field_name("target") if head is not None and head.type == "call" else head
    if head is None or name is None or name.type != "identifier":
        return
    parameters = child_of_kind(head, "arguments") if head.type == "call" else None
    if body is not None:
        walk.merged.add(body.start_byte)
    text = walk.cut(name)
    home = walk.binding_scope()
    scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, text)
    n_parameters = parameters.named_child_count if parameters is not None else 0
    known = walk.notes.get((home, text, n_parameters), NONE)
    if known == NONE:
        is_macro = walk.cut(match["word"]).startswith(("defmacro", "defguard"))
        known = walk.define(
            *(DefinitionKind.MACRO if is_macro else DefinitionKind.FUNCTION, name.byte_range, node.byte_range),
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


def _operator_of(node: Node) -> str:
    sign = node.child_by_field_name("operator")
    return sign.type if sign is not None else ""


def _bind_pattern(
    walk: Walk,
    pattern: Node,
    node: Node,
    scope: int,
    kind: DefinitionKind = DefinitionKind.VARIABLE,
    visible_from: int = 0,
) -> None:
    """Define the variables of a pattern; one that it names twice is one variable."""
    seen: set[str] = set()
    for name in _names_in(walk, pattern):
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


def _names_in(walk: Walk, pattern: Node) -> Iterator[Node]:
    """Yield the variables of a pattern, in their order."""
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind == "identifier":
            text = walk.cut(node)
            if text != "_" and not text.startswith("__"):
                yield node
        elif kind in _CONTAINERS:
            waiting.extend(reversed(node.named_children))
        elif kind == "pair":
            value = node.child_by_field_name("value")
            waiting += [value] if value is not None else []
        elif kind == "binary_operator":
            sides = ["left"] if _operator_of(node) in _LEFT_ONLY else ["right", "left"]
            parts = (node.child_by_field_name(side) for side in sides)
            waiting += [part for part in parts if part is not None]


def _import_names(walk: Walk, match: Match) -> None:
    """Add what `alias`, `import`, `require` or `use` imports: one module, or several as in `alias A.{B, C}`."""
    named, word = _first_argument(match), walk.cut(match["word"])
    if named is None:
        return
    if named.type == "alias":
        alias = _alias_in(walk, match["arguments"])
        _import(walk, match.node, word, walk.cut(named), named, alias)
        walk.marks.setdefault(named.start_byte, UNBOUND)
    elif named.type == "dot":
        prefix, names = named.child_by_field_name("left"), named.child_by_field_name("right")
        if prefix is None or names is None:
            return
        walk.marks.setdefault(prefix.start_byte, UNBOUND)
        for each in names.named_children:
            if each.type == "alias":
                _import(walk, match.node, word, f"{walk.cut(prefix)}.{walk.cut(each)}", each, "")


def _import(walk: Walk, node: Node, word: str, source: str, name: Node, alias: str) -> None:
    last = source.rpartition(".")[2]
    local = alias or (last if word == "alias" else "")
    walk.add_import(
        *(f"elixir_{word}", node.byte_range, source),
        imported_name="*" if word == "import" else None,
        alias=local or None,
        local_name=local,
        names=[name.end_byte - len(last.encode())],
    )


def _alias_in(walk: Walk, arguments: Node) -> str:
    """Return the name after `as:`."""
    keywords = child_of_kind(arguments, "keywords")
    for pair in keywords.named_children if keywords is not None else ():
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is not None and value is not None and value.type == "alias" and walk.cut(key).strip() == "as:":
            return walk.cut(value)
    return ""


def _declare_struct(walk: Walk, match: Match) -> None:
    """Define a struct under the word that defines it, and its keys."""
    if "arguments" not in match:
        return
    walk.define(DefinitionKind.STRUCT, match["word"].byte_range, match.node.byte_range, is_bound=False)
    waiting = match["arguments"].named_children[::-1]
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


def _open_loop(walk: Walk, match: Match) -> None:
    """Open the scope of `for` and `with`, whose steps bind names for the later ones."""
    walk.open_scope(BLOCK, *match.node.byte_range)
    if (body := match.get("body")) is not None:
        walk.merged.add(body.start_byte)


def _open_quote(walk: Walk, match: Match) -> None:
    """Open a scope for quoted code, whose names are not those around it, except for what is unquoted."""
    if (body := match.get("body")) is not None:
        walk.merged.add(body.start_byte)
        walk.notes["quote", walk.open_scope(FUNCTION, *body.byte_range)] = 1


def _open_unquote(walk: Walk, match: Match) -> None:
    """Let unquoted code belong to the scope around the quoted code."""
    scope = walk.scope
    while scope != NONE and ("quote", scope) not in walk.notes:
        scope = walk.scopes[scope].parent
    if scope != NONE and "arguments" in match:
        walk.set_aside(scope, *match["arguments"].byte_range)


def bind_match(walk: Walk, match: Match) -> None:
    """Define the variables on the left of `=` or `<-`."""
    _bind_pattern(walk, match["pattern"], match.node, walk.scope, visible_from=match.node.end_byte)


def set_attribute(walk: Walk, match: Match) -> None:
    """Define a module attribute where it is set, or a type; remember the text of `@doc`."""
    name, value = match["name"], match.get("value")
    text = walk.cut(name)
    if text == "doc" and value is not None and value.type == "string":
        walk.notes["doc",] = value.start_byte
        walk.notes["end of doc",] = value.end_byte
    if text in _TYPES and value is not None:
        _define_type(walk, match.node, value)
    if text in _NOTES:
        walk.marks[name.start_byte] = IGNORED
    else:
        walk.define(DefinitionKind.CONSTANT, name.byte_range, match.node.byte_range, space=TAG)


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


def find_clauses(walk: Walk, match: Match) -> None:
    """Note which clauses belong to a function and not to a `case`."""
    for clause in match.node.named_children:
        walk.notes["parameters", clause.start_byte] = 1


def open_clause(walk: Walk, match: Match) -> None:
    """Open the scope of a clause and define the variables of its pattern."""
    is_function = walk.notes.pop(("parameters", match.node.start_byte), 0) == 1
    scope = walk.open_scope(LAMBDA if is_function else BLOCK, *match.node.byte_range)
    pattern = match.get("pattern")
    if pattern is not None:
        kind = DefinitionKind.PARAMETER if is_function else DefinitionKind.VARIABLE
        _bind_pattern(walk, pattern, pattern, scope, kind)


def take_alias(walk: Walk, match: Match) -> int:
    """Take each part of `A.B.C` as a name of its own."""
    for found in _PART.finditer(walk.bytewise, *match.node.byte_range):
        walk.take(*found.span(), TYPE)
    return SKIP


def take_keyword(walk: Walk, match: Match) -> int:
    """Take the key of a pair."""
    found = _KEYWORD.match(walk.bytewise, match.node.start_byte)
    if found is not None and found[1] not in _CLAUSE_WORDS:
        walk.take(*found.span(1), MEMBER)
    return SKIP


_CALLS: Final = MappingProxyType(
    {
        **dict.fromkeys(("defmodule", "defprotocol"), _declare_module),
        "defimpl": _open_implementation,
        **dict.fromkeys(("def", "defp", "defn", "defnp", "defdelegate"), _declare_function),
        **dict.fromkeys(("defguard", "defguardp", "defmacro", "defmacrop"), _declare_function),
        **dict.fromkeys(("alias", "import", "require", "use"), _import_names),
        **dict.fromkeys(("defstruct", "defexception"), _declare_struct),
        **dict.fromkeys(("for", "with"), _open_loop),
        "quote": _open_quote,
        **dict.fromkeys(("unquote", "unquote_splicing"), _open_unquote),
    }
)
