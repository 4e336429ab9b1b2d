"""Episodes: what happened, in one sentence or a few, with the keys under which it is found again."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from codeplane.core.clock import ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.memory.experiences import Experience
from codeplane.memory.store import Writing

MAX_SUMMARY: Final = 4000
_DAY_MS: Final = 24 * 3600 * 1000
_STATE_WEIGHTS: Final = {
    "unverified": 0,
    "observed": 50,
    "reinforced": 100,
    "stable": 150,
    "decaying": 25,
    "archived": 0,
}
# Age in days up to which a row falls into a bucket; older rows are in bucket 1.
_BUCKETS: Final = ((1, 5), (7, 4), (30, 3), (90, 2))


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode before it is stored."""

    summary: str
    keys: tuple[str, ...] = ()
    outcome: str = "unknown"
    trust: int = 1
    source: str = "system"
    scope: str = "project"
    session_id: int | None = None
    experience_ref: int | None = None


def record_episode(writing: Writing, episode: Episode) -> int:
    """Store an episode and return its id.

    Raises:
        CodePlaneError: PAYLOAD_TOO_LARGE or INVALID_TRUST.
    """
    if len(episode.summary) > MAX_SUMMARY:
        raise CodePlaneError("PAYLOAD_TOO_LARGE", f"A summary has at most {MAX_SUMMARY} characters.")
    if not 0 <= episode.trust <= 3:
        raise CodePlaneError("INVALID_TRUST", f"Trust is 0 to 3, not {episode.trust}.")
    return writing.insert(
        "episodic_experiences",
        session_id=episode.session_id,
        scope=episode.scope,
        context_keys_json=json.dumps(normal_keys(episode.keys), ensure_ascii=False),
        summary=episode.summary,
        outcome=episode.outcome,
        trust=episode.trust,
        salience=first_salience(episode.trust),
        created_at=writing.now,
        source=episode.source,
        experience_ref=episode.experience_ref,
        author=writing.origin.author or writing.origin.session,
        worktree=writing.origin.worktree,
        branch=writing.origin.branch,
    )


def record_from_experience(writing: Writing, key: int, experience: Experience) -> int:
    """Store the episode that belongs to a new experience; consolidation makes lessons of it."""
    summary = " ".join(
        part.rstrip(".") + "."
        for part in (experience.situation, experience.approach, experience.outcome, experience.reasoning)
        if part.strip()
    )
    return record_episode(
        writing,
        Episode(
            summary[:MAX_SUMMARY],
            (experience.domain, *experience.tags),
            "success" if experience.type == "effective" else "fail",
            trust_of(experience.confidence),
            experience.source,
            experience.scope,
            experience_ref=key,
        ),
    )


def trust_of(confidence: float | None) -> int:
    """Return the trust level for a confidence between 0 and 1."""
    if confidence is None:
        return 1
    return sum(confidence > limit for limit in (0.25, 0.5, 0.75))


def normal_keys(keys: Iterable[str]) -> list[str]:
    """Return keys trimmed, in lower case, each once and sorted."""
    return sorted({key.strip().lower() for key in keys} - {""})


def first_salience(trust: int) -> int:
    """Return the salience of a row that was just made."""
    state = "reinforced" if trust >= 2 else "observed" if trust == 1 else "unverified"
    return salience(state, 0, 5, trust, 0)


def salience(state: str, evidence_count: int, bucket: int, trust: int, contradiction_count: int) -> int:
    """Return how much a row matters, from 0 to 1000."""
    value = _STATE_WEIGHTS.get(state, 0) + evidence_count * 60 + bucket * 20 + trust * 40 - contradiction_count * 120
    return max(0, min(1000, value))


def recency_bucket(updated_at: str, now_ms: int) -> int:
    """Return 5 for a row of today down to 1 for one older than ninety days."""
    days = max(0, now_ms - ms_from_iso(updated_at)) / _DAY_MS
    return next((bucket for limit, bucket in _BUCKETS if days <= limit), 1)
