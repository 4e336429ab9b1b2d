"""What a person has decided about governance, kept outside of the repository where agents' tools do not reach."""

import hmac
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from codeplane.core.canonical_json import canonical_bytes
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.govern.rulebook import Mode

_MAX_HELPERS = 500


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The mode of a repository, the intents that were accepted, and digests of accepted policy files and helpers.

    `mode` is None as long as nothing has switched governance on or off. `tree_intents` are the intents that a person
    has set for working trees: agents that cannot select one work under these.
    """

    mode: Mode | None = None
    intents: str | None = None
    policies: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    tree_intents: Mapping[str, str] = field(default_factory=dict)

    def has_accepted_policy(self, text: str) -> bool:
        """Tell whether this very text was accepted."""
        return sha256_text(text) in self.policies

    def with_policy(self, text: str) -> "Acceptance":
        """Return it with one more accepted policy file; the few last ones are kept, for branches differ."""
        known = [one for one in self.policies if one != sha256_text(text)]
        return replace(self, policies=(*known[-19:], sha256_text(text)))

    def with_helpers(self, digests: Iterable[str]) -> "Acceptance":
        """Return it with more accepted hooks and helpers; the last ones are kept, for branches differ."""
        return replace(self, helpers=tuple(dict.fromkeys((*self.helpers, *digests)))[-_MAX_HELPERS:])


class AcceptanceStore:
    """One small file per repository in the user state directory, sealed with the key of the ledger.

    Invariant: it is replaced as a whole; one that cannot be read, or whose seal is wrong, means that nothing was
    accepted and intents are asked for.
    """

    def __init__(self, directory: Path, repo_id: str, sign: Callable[[str], str]) -> None:
        self._path = directory / f"{repo_id}.json"
        self._sign = sign

    def load(self) -> Acceptance:
        """Return what was decided."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return Acceptance()
        except (OSError, UnicodeDecodeError):
            return _NOTHING_ACCEPTED
        try:
            document = json.loads(text)
            is_sealed = hmac.compare_digest(str(document.pop("seal")), self._sign(canonical_bytes(document).decode()))
            return _from_json(document) if is_sealed else _NOTHING_ACCEPTED
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            return _NOTHING_ACCEPTED

    def save(self, acceptance: Acceptance) -> None:
        """Keep what was decided.

        Raises:
            CodePlaneError: PERMISSION_DENIED when the user state directory cannot be written.
        """
        mode = acceptance.mode.value if acceptance.mode is not None else None
        document: dict[str, Any] = {
            "version": 1,
            "mode": mode,
            "intents": acceptance.intents,
            "policies": list(acceptance.policies),
        }
        document["helpers"] = list(acceptance.helpers)
        document["tree_intents"] = dict(acceptance.tree_intents)
        try:
            document["seal"] = self._sign(canonical_bytes(document).decode())
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=".governance-")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(document, file)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except OSError as error:
            message = f"What was decided cannot be kept: {error.strerror or error}"
            raise CodePlaneError("PERMISSION_DENIED", message) from error


_NOTHING_ACCEPTED = Acceptance(Mode.ENFORCE, "")


def _from_json(document: dict[str, Any]) -> Acceptance:
    mode = document["mode"]
    intents = document["intents"]
    if intents is not None and not isinstance(intents, str):
        raise TypeError
    helpers = tuple(map(str, document.get("helpers", ())))
    trees = {str(tree): str(intent) for tree, intent in document.get("tree_intents", {}).items()}
    policies = tuple(map(str, document["policies"]))
    return Acceptance(Mode(mode) if mode is not None else None, intents, policies, helpers, trees)
