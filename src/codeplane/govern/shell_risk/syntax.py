"""The second parser: tree-sitter's tree must hold known kinds only, and cut the words where `words.py` cuts them."""

from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from codeplane.govern.shell_risk.report import UnclearCommandError

_GRAMMAR: Final = Language(tree_sitter_bash.language())
MAX_NODES: Final = 8000
_KINDS: Final = frozenset(
    {
        "ansi_c_string", "binary_expression", "command", "command_name", "command_substitution", "comment",
        "concatenation", "expansion",
        "file_descriptor", "file_redirect", "list", "negated_command", "number", "pipeline", "program", "raw_string",
        "redirected_statement", "simple_expansion", "special_variable_name", "string", "string_content",
        "test_command", "test_operator", "unary_expression", "variable_assignment", "variable_name", "word",
        # Tokens without a name.
        "\n", "!", "!=", '"', "$", "${", "&&", "&>", "&>>", "-a", "-o", ";", "<", "=", "==", ">", ">&", ">>", "[",
        "[[", "]", "]]", "{", "|", "|&", "||", "}",
    }
)  # fmt: skip
_NOT_WORDS: Final = frozenset({"file_redirect", "variable_assignment"})

Span = tuple[int, int]


def check_kinds(source: bytes) -> list[Span]:
    """Return where the tree's words are, in order; a test in brackets counts as one.

    Raises:
        UnclearCommandError: An error, something missing, or a kind of node that is not known to be harmless.
    """
    root = Parser(_GRAMMAR).parse(source).root_node
    if root.has_error:
        raise UnclearCommandError("has broken or unknown syntax")
    spans: list[Span] = []
    waiting = [root]
    n_nodes = 0
    while waiting:
        node = waiting.pop()
        n_nodes += 1
        kind = node.type
        if kind not in _KINDS or node.is_missing or n_nodes > MAX_NODES:
            raise UnclearCommandError(
                f"uses shell syntax that is not checked: {kind.strip().replace('_', ' ') or 'white space'}"
            )
        children = node.children
        if kind == "command":
            spans += _words_of(children)
        elif kind == "test_command":
            spans.append((node.start_byte, node.end_byte))
        if kind != "command_substitution":
            # `words.py` lets only fixed forms through, and reads what is in them.
            waiting.extend(children)
    return sorted(spans)


def _words_of(children: list[Node]) -> list[Span]:
    return [(one.start_byte, one.end_byte) for one in children if one.type not in _NOT_WORDS]
