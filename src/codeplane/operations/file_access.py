"""The one check before any operation delivers a file: no secrets, nothing that a rule keeps out."""

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.index.ignore_rules import IgnoreRules, RuleKind


def check_readable(rules: IgnoreRules, path: RepoPath) -> None:
    """Refuse a file that a hard rule keeps out; soft rules only keep noise out of listings.

    Raises:
        CodePlaneError: SECRET_FILE or FILE_IGNORED with the rule and where it stands.
    """
    rule = rules.exclusion(path, is_directory=False)
    if rule is None or rule.kind is RuleKind.SOFT:
        return
    details = {"path": path.text, "rule": rule.line, "source": rule.source}
    where = f"the rule `{rule.line}` ({rule.source})"
    if rule.kind is RuleKind.SECRET:
        hint = f"If it holds no secret, a person can add `!{path.name}` to .cplignore."
        raise CodePlaneError("SECRET_FILE", f"{path} is kept back by {where}.", hint=hint, details=details)
    raise CodePlaneError("FILE_IGNORED", f"{path} is kept out by {where}.", details=details)
