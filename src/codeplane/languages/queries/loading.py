"""Load the query of a language and return the function that extracts facts by it."""

from tree_sitter import Language, Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import FileFacts
from codeplane.languages.nodes import count_errors
from codeplane.languages.parsing import SYSTEM_CLOCK, Extract, IsOver, extract_within_limits
from codeplane.languages.queries.actions import ACTIONS
from codeplane.languages.queries.comments import comment_style
from codeplane.languages.queries.outline import OUTLINE_ACTIONS, Outline, outline_facts
from codeplane.languages.queries.patterns import Patterns
from codeplane.languages.queries.rules import symbol_rules
from codeplane.languages.queries.symbols import symbol_facts
from codeplane.languages.queries.walking import Walk


def load_extract(name: str, grammar: Language, comments: str, block_comments: str, *, is_outline: bool) -> Extract:
    """Return the function that extracts the facts of a language known inside files only."""
    patterns = Patterns(name, grammar, OUTLINE_ACTIONS if is_outline else ACTIONS)
    rules = symbol_rules(patterns.settings, comment_style(comments.split(), block_comments.split()))
    needs_final_newline = "needs-final-newline" in patterns.settings

    def read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
        if is_outline:
            outline = Outline(source)
            patterns.run(outline, root, is_over)
            return outline_facts(outline, count_errors(root, is_over))
        walk = Walk(source, rules)
        patterns.run(walk, root, is_over)
        return symbol_facts(walk, count_errors(root, is_over))

    def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
        return extract_within_limits(source, grammar, read, clock, needs_final_newline=needs_final_newline)

    return extract
