"""Cut what leads to parts of a file that the grammar could not understand."""

from codeplane.languages.facts import EXPRESSION, NONE, FileFacts


def repair(facts: FileFacts) -> None:
    """Cut what leads to identifiers that were left out: receivers become EXPRESSION, types and bases NONE."""
    starts = {reference[0] for reference in facts.references}
    facts.references = [
        one if one[4] < 0 or one[4] in starts else (*one[:4], EXPRESSION, one[5]) for one in facts.references
    ]
    for number, one in enumerate(facts.definitions):
        if (one.type_ref != NONE and one.type_ref not in starts) or not starts.issuperset(one.bases):
            facts.definitions[number] = one._replace(
                type_ref=one.type_ref if one.type_ref in starts else NONE,
                bases=tuple(base if base in starts else NONE for base in one.bases),
            )
