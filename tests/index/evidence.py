"""The stored evidence of links, in words that a test can compare."""

from codeplane.index.facts.outline import PATH
from codeplane.index.facts.reader import FactReader
from codeplane.index.linking.stored_links import Step


def evidence_words(reader: FactReader, chain: tuple[tuple[int, int, int], ...]) -> list[str]:
    """Return the chain that proves a reference, step by step, in words."""
    words = []
    for step, file_id, number in chain:
        file = reader.file(file_id)
        if file is None or file.facts_id is None:
            continue
        outline = reader.outline(file.facts_id)
        if step in {Step.IMPORT, Step.STAR}:
            row = outline.import_rows[number]
            what = f"import of {row[2] or row[1]} from {row[1]}" if row[2] else f"import of {row[1]}"
        elif step in {Step.MEMBER, Step.BASE, Step.TYPE}:
            what = f"{Step(step).name.lower()} of {outline.definition_rows.column(PATH)[number]}"
        elif step == Step.EXPORT:
            what = f"export of {outline.export_rows[number][0]}"
        else:
            what = "name of the module"
        words.append(f"{file.path}: {what}")
    return words
