"""What binding names has in common in all languages that read a file scope by scope."""

from codeplane.languages.facts import BindTarget, Certainty, Import, LocalBind


def settled_imports(imports: list[Import], binds: list[LocalBind]) -> list[Import]:
    """Return the imports, those whose name can also mean something else marked UNCERTAIN."""
    uncertain, imported = Certainty.UNCERTAIN, BindTarget.IMPORT
    doubtful = {bind[3] for bind in binds if bind[4] is uncertain and bind[2] is imported}
    if not doubtful:
        return imports
    return [
        fact._replace(certainty=Certainty.UNCERTAIN) if number in doubtful else fact
        for number, fact in enumerate(imports)
    ]
