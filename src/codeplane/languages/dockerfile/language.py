"""Dockerfiles."""

from typing import Final

import tree_sitter_containerfile
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.keys import unquoted
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules
from codeplane.languages.tables.tree import child_of_kind


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the stages and instructions of a Dockerfile."""
    return extract_outline(source, _RULES, clock)


def _add_stages(outline: Outline, node: Node) -> bool:
    """Add everything: a stage has no node of its own."""
    instructions = [each for each in node.named_children if each.type.endswith("_instruction")]
    starts = [each.start_byte for each in instructions if each.type == "from_instruction"]
    ends = iter([*starts[1:], node.end_byte])
    for instruction in instructions:
        if instruction.type == "from_instruction":
            _add_stage(outline, instruction, next(ends))
        else:
            _add_instruction(outline, instruction)
    return False


def _add_stage(outline: Outline, node: Node, end: int) -> None:
    image, alias = child_of_kind(node, "image_spec"), node.child_by_field_name("as")
    name = alias or image
    if name is not None:
        signature = outline.text.name(*image.byte_range) if image is not None else ""
        outline.add(DefinitionKind.BLOCK, name.byte_range, (node.start_byte, end), signature=signature)


def _add_instruction(outline: Outline, node: Node) -> None:
    word = node.type.removesuffix("_instruction").upper()
    word_end = node.start_byte + len(word)
    outline.add(
        *(DefinitionKind.STATEMENT, (node.start_byte, word_end), node.byte_range),
        name=word,
        signature=outline.text.name(word_end, node.end_byte),
    )
    for pair in node.named_children:
        name = pair.child_by_field_name("name") or pair.child_by_field_name("key")
        if pair.type.endswith("_pair") and name is not None:
            outline.add(DefinitionKind.KEY, unquoted(outline, name), pair.byte_range)


_RULES: Final = outline_rules(Grammar(tree_sitter_containerfile.language()), {"source_file": _add_stages})
LANGUAGE: Final = Language("dockerfile", Depth.STRUCTURE, extract)
