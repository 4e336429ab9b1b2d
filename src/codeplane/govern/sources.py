"""Read the files that make the rules, as they are now."""

import os
import stat
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.govern.acceptance import Acceptance, AcceptanceStore
from codeplane.govern.intents import INTENT_IGNORE_FILE, INTENTS_FILE, parse_intents
from codeplane.govern.policy_document import POLICY_FILE
from codeplane.govern.rulebook import Delegation, Mode, PolicyText, Rulebook, RuleTexts, Tier, read_rules

_MAX_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PolicyPlaces:
    """Where policy files outside of the repository are."""

    administrator: Path
    user: Path


class RuleSources:
    """Reads the rules before every decision; nothing is kept but what the texts mean.

    The first valid intents file switches intents on and is accepted as it is: against none it only tightens.
    """

    def __init__(
        self,
        root: Path,
        store: AcceptanceStore,
        places: PolicyPlaces,
        delegations: Callable[[], tuple[Delegation, ...]],
    ) -> None:
        self._root = root
        self.store = store
        self._places = places
        self._delegations = delegations
        self._lock = threading.Lock()
        self._read: tuple[RuleTexts, Rulebook] | None = None

    def rules(self) -> tuple[RuleTexts, Rulebook]:
        """Return the rules in force now."""
        texts = self._texts()
        with self._lock:
            if self._read is None or self._read[0] != texts:
                self._read = (texts, read_rules(texts))
            return self._read

    def accept(self) -> Acceptance:
        """Accept intents and policy of the repository as they are now.

        Raises:
            CodePlaneError: CONFIG_INVALID for files that cannot be read, PERMISSION_DENIED.
        """
        acceptance = self.store.load()
        intents, _ = _text_of(self._root / INTENTS_FILE)
        policy, _ = _text_of(self._root / POLICY_FILE)
        if intents is not None:
            parse_intents(intents)
            acceptance = replace(acceptance, intents=intents, mode=acceptance.mode or Mode.ENFORCE)
        if policy is not None:
            acceptance = acceptance.with_policy(policy)
        self.store.save(acceptance)
        return acceptance

    def accept_helpers(self, digests: Iterable[str]) -> None:
        """Accept hooks and helpers that git runs, as they are now."""
        self.store.save(self.store.load().with_helpers(digests))

    def set_tree_intent(self, worktree: str, intent_id: str | None) -> None:
        """Set the intent of a working tree, as a person wants it; None takes it back."""
        known = self.store.load()
        trees = {tree: one for tree, one in known.tree_intents.items() if tree != worktree}
        self.store.save(replace(known, tree_intents=trees | ({worktree: intent_id} if intent_id else {})))

    def set_mode(self, mode: Mode) -> None:
        """Switch intents on or off, as a person wants it."""
        self.store.save(replace(self.store.load(), mode=mode))

    def _texts(self) -> RuleTexts:
        intents, unreadable = _text_of(self._root / INTENTS_FILE)
        acceptance = self._switched_on(self.store.load(), intents)
        # A file that is there but cannot be read is a wish for governance that must not be lost.
        mode = acceptance.mode or (Mode.ENFORCE if intents is not None or unreadable else Mode.OFF)
        policies = []
        for tier, path in (
            (Tier.ADMINISTRATOR, self._places.administrator),
            (Tier.USER, self._places.user),
            (Tier.REPOSITORY, self._root / POLICY_FILE),
        ):
            text, problem = _text_of(path)
            if text is None and problem:
                # Said as a problem of the file: unknown keys are.
                text = "unreadable: true\n"
            if text is not None:
                is_accepted = tier is not Tier.REPOSITORY or acceptance.has_accepted_policy(text)
                policies.append(PolicyText(tier, text, is_accepted))
        ignored, _ = _text_of(self._root / INTENT_IGNORE_FILE)
        return RuleTexts(
            mode, intents, acceptance.intents, ignored or "", tuple(policies), self._delegations(), unreadable
        )

    def _switched_on(self, acceptance: Acceptance, intents: str | None) -> Acceptance:
        if intents is None or acceptance.intents is not None or acceptance.mode is Mode.OFF:
            return acceptance
        try:
            parse_intents(intents)
        except CodePlaneError:
            return acceptance
        acceptance = replace(acceptance, mode=Mode.ENFORCE, intents=intents)
        self.store.save(acceptance)
        return acceptance


def _text_of(path: Path) -> tuple[str | None, str]:
    """Return a small file's text, or why it cannot be read; neither for a file that is not there."""
    try:
        return _read(path).decode("utf-8-sig"), ""
    except (FileNotFoundError, NotADirectoryError):
        return None, ""
    except UnicodeDecodeError:
        return None, f"{path.name} is not UTF-8 text"
    except OSError as error:
        return None, f"{path.name} cannot be read: {error.strerror or error}"


def _read(path: Path) -> bytes:
    # Opening a pipe would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is not a regular file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise OSError(f"it is larger than {_MAX_BYTES} bytes")
    return data
