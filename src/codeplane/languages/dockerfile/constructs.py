"""Dockerfiles: a stage has no node of its own, so everything is listed at once."""

from tree_sitter import Node

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.nodes import child_of_kind
from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import SKIP, Match


def list_stages(outline: Outline, match: Match) -> int:
    """Add the stages and the instructions in them."""
    instructions = [each for each in match.node.named_children if each.type.endswith("_instruction")]
    starts = [each.start_byte for each in instructions if each.type == "from_instruction"]
    ends = iter([*starts[1:], match.node.end_byte])
    for instruction in instructions:
        if instruction.type == "from_instruction":
            _add_stage(outline, instruction, next(ends))
        else:
            _add_instruction(outline, instruction)
    return SKIP


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
            outline.add(DefinitionKind.KEY, outline.unquoted(name), pair.byte_range)
