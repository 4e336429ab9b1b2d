"""Whether two lessons contradict each other: the same subject with opposite polarity, or one slot with two values.

Words decide, by fixed tables; no model. What the tables do not know counts as compatible: a missed contradiction costs
less than a false one.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from codeplane.memory.near_duplicates import stem

_WORD = re.compile(
    r"[A-Za-z_][\w.]*(?:/[\w.*-]+)*(?:['\u2019][a-z]+)?|--?[a-z][\w-]*|/?[\w.-]+(?:/[\w.*-]+)+|\d+(?:\.\d+)*%?|[A-Za-z]+"
)
_NEGATIVE = frozenset(
    "not no never none nobody nothing neither nor without cannot avoid avoids avoided forbidden prohibited stop "
    "refrain don't doesn't didn't isn't aren't wasn't weren't won't can't couldn't shouldn't wouldn't mustn't needn't "
    "dont cant wont skip fails failed fail breaks broke broken".split()
)
# Phrases whose negation word negates nothing.
_NO_NEGATION = re.compile(
    r"\bnot only\b|\bno longer than\b|\bno more than\b|\bno later than\b|\bno fewer than\b|\bno less than\b"
    r"|\bnot just\b|\bwhether or not\b|\bno matter\b|\bwithout exception\b|\bif not\b|\bnot yet\b"
    r"|\b(?:can ?not|can't) hurt\b",
    re.IGNORECASE,
)
_OPPOSITES: Final = tuple(
    tuple(pair.split("/"))
    for pair in (
        "always/never enable/disable on/off before/after required/optional mandatory/optional allow/deny allow/forbid "
        "accept/reject include/exclude add/remove increase/decrease increase/reduce raise/lower more/fewer more/less "
        "higher/lower above/below safe/unsafe true/false sync/async synchronous/asynchronous mutable/immutable "
        "public/private first/last up/down open/closed inclusive/exclusive cheap/expensive fast/slow faster/slower "
        "serial/parallel sequential/parallel stateless/stateful sorted/unsorted ordered/unordered ascending/descending "
        "deterministic/random works/fails passes/fails succeeds/fails valid/invalid supported/unsupported "
        "stable/unstable strict/lenient local/remote upper/lower uppercase/lowercase prefer/avoid use/avoid "
        "keep/remove keep/delete start/stop blocking/nonblocking seconds/milliseconds bytes/kilobytes minutes/seconds "
        "hours/minutes tabs/spaces single/double left/right absolute/relative explicit/implicit eager/lazy "
        "eagerly/lazily automatic/manual automatically/manually static/dynamic encrypted/plain squash/merge "
        "rebase/merge utc/local nullable/required minimum/maximum every/never optimistic/pessimistic keep/drop "
        "fill/leave commit/ignore trust/verify truncate/round zero-based/one-based case-sensitive/case-insensitive "
    ).split()
)
_SLOT = frozenset(
    "timeout limit port version default size count number level depth retries retry interval delay ttl batch threshold "
    "maximum minimum max min workers threads pool length width indent indentation precision budget quota rate branch "
    "formatter linter runner encoding format style quotes locale timezone zone base target owner region engine driver "
    "backend provider registry protocol scheme mode algorithm license name prefix suffix extension directory".split()
)
# What follows says what is not meant: "use A instead of B".
_ALTERNATIVE = re.compile(r"\s(?:instead of|rather than|over)\s.*", re.IGNORECASE)
# A sentence with an exception or a bound does not clash with one that has another.
_EXCEPTION = re.compile(r"\b(?:unless|except)\b", re.IGNORECASE)
_BOUND = re.compile(
    r"\b(?:at least|at most|up to|under|below|above|over|more than|less than|fewer than|between|within|minimum of"
    r"|or more|or less|or newer|or older|not exceed)\b",
    re.IGNORECASE,
)
_SECONDS: Final = {
    "ms": 0.001, "millisecond": 0.001, "s": 1.0, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0,
    "week": 604800.0, "bytes": 1.0, "kb": 1024.0, "mb": 1024.0**2, "gb": 1024.0**3, "kib": 1024.0, "mib": 1024.0**2,
}  # fmt: skip
# Words that state a duty, not a value.
_NO_VALUE = frozenset("set required optional present mandatory there given missing empty needed".split())
_STOP = frozenset(
    "a an the of to in on at by for and or with from as is are was were be been being it its this that these those "
    "then so just also we you i our your they their there here which who will would can could should may might must do "
    "does did has have had when while if into than via all any some each use uses used using always need needs "
    "make makes only still again even one prefer".split()
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|,\s+(?:but|because|so|since|otherwise)\s+")


@dataclass(frozen=True)
class Statement:
    """One lesson: what was done in a situation, and whether it worked."""

    situation: str
    approach: str
    outcome: str = ""
    is_effective: bool = True

    @cached_property
    def claims(self) -> tuple["Claim", ...]:
        """Return what the lesson tells to do; what did not work is claimed with the opposite sign."""
        sign = 1 if self.is_effective else -1
        return tuple(claim_of(part, sign) for part in _SENTENCE.split(self.approach) if part.strip())

    @cached_property
    def observed(self) -> tuple["Claim", ...]:
        """Return what the lesson tells to be so."""
        return tuple(claim_of(part, 1) for part in _SENTENCE.split(self.outcome) if part.strip())

    @cached_property
    def setting(self) -> "Claim":
        """Return the situation as a claim, for telling whether two lessons speak of the same one."""
        return claim_of(self.situation, 1)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence reduced to its content: words in order, facts such as names and numbers, and a sign.

    `negated` are the words that a negation stands before. `is_bounded` marks a range or an exception.
    """

    words: tuple[str, ...]
    facts: frozenset[str]
    sign: int
    negated: frozenset[str] = frozenset()
    is_bounded: bool = False

    @property
    def subject(self) -> frozenset[str]:
        """Return the words and facts without order."""
        return frozenset(self.words)


def claim_of(sentence: str, sign: int) -> Claim:
    """Return the claim of a sentence; each negation turns its sign."""
    plain = _ALTERNATIVE.sub("", _NO_NEGATION.sub(" ", sentence.replace("\u2019", "'")))
    words: list[str] = []
    facts: set[str] = set()
    negated: set[str] = set()
    is_negated = False
    for token in (token.strip(".") for token in _WORD.findall(plain)):
        low = token.lower()
        if low in _NEGATIVE:
            sign, is_negated = -sign, True
            continue
        if not _is_fact(token) and low in _STOP and low not in {"on", "off"}:
            continue
        word = token if _is_fact(token) else stem(low)
        words.append(word)
        if _is_fact(token):
            facts.add(token)
        if is_negated:
            negated.add(word)
            is_negated = False
    is_bounded = _EXCEPTION.search(plain) is not None or _BOUND.search(sentence) is not None
    return Claim(tuple(words), frozenset(facts), sign, frozenset(negated), is_bounded)


def contradicts(first: Statement, second: Statement) -> bool:
    """Tell whether two lessons cannot both be followed, or tell the opposite of the same thing."""
    if not _same_setting(first.setting, second.setting):
        return False
    pairs = [(a, b) for a in first.claims for b in second.claims]
    pairs += [(a, b) for a in first.observed for b in second.observed if len(a.subject & b.subject) >= 2]
    return any(_clash(a, b) for a, b in pairs)


def _same_setting(first: Claim, second: Claim) -> bool:
    """Tell whether two situations are the same; a word that each has for itself makes them two."""
    if first.facts != second.facts or first.sign != second.sign:
        return False
    return first.subject <= second.subject or second.subject <= first.subject


def _clash(first: Claim, second: Claim) -> bool:
    only_first, only_second = _rest(first, second), _rest(second, first)
    shared = first.subject & second.subject
    if not shared or first.is_bounded != second.is_bounded:
        return False
    if _is_opposite(only_first, only_second):
        # Opposite words under opposite signs agree, and so do those around exchanged words: "A before B", "B after A".
        return first.sign == second.sign and _in_order(first, shared) == _in_order(second, shared)
    if first.sign != second.sign:
        return (first.negated | second.negated <= shared) and _is_close(only_first, only_second, shared)
    return not first.is_bounded and _is_one_slot(only_first, only_second, shared)


def _rest(first: Claim, second: Claim) -> tuple[str, ...]:
    return tuple((Counter(first.words) - Counter(second.words)).elements())


def _in_order(claim: Claim, shared: frozenset[str]) -> tuple[str, ...]:
    return tuple(word for word in claim.words if word in shared)


def _is_close(only_first: tuple[str, ...], only_second: tuple[str, ...], shared: frozenset[str]) -> bool:
    """Tell whether two sentences share nearly all of their words; a few extra words on one side are allowed."""
    if only_first and only_second:
        return False
    return len(only_first) + len(only_second) <= len(shared) / 2


def _is_one_slot(only_first: tuple[str, ...], only_second: tuple[str, ...], shared: frozenset[str]) -> bool:
    """Tell whether two sentences differ in the value of one slot that holds one value."""
    amount, other_amount = _amount(only_first), _amount(only_second)
    if amount is not None and other_amount is not None:
        return amount != other_amount and len(shared) >= 2
    if len(only_first) != 1 or len(only_second) != 1 or _NO_VALUE & {only_first[0], only_second[0]}:
        return False
    one, other = only_first[0], only_second[0]
    return bool(shared & _SLOT_STEMS) and _is_fact(one) == _is_fact(other) and not _is_path(one)


def _amount(words: tuple[str, ...]) -> tuple[float, str] | tuple[str, str] | None:
    """Return what a number with its unit amounts to, None for anything else."""
    if not words or not _is_number(words[0]) or len(words) > 2:
        return None
    unit = stem(words[1]) if len(words) == 2 else ""
    number = words[0].rstrip("%")
    if unit and unit not in _SECONDS:
        return None
    return (float(number) * _SECONDS[unit], "") if unit and number.replace(".", "", 1).isdigit() else (words[0], unit)


def _is_opposite(only_first: tuple[str, ...], only_second: tuple[str, ...]) -> bool:
    if len(only_first) != 1 or len(only_second) != 1:
        return False
    return frozenset((only_first[0].lower(), only_second[0].lower())) in _OPPOSITE_STEMS


def _is_number(token: str) -> bool:
    return token[0].isdigit()


def _is_path(token: str) -> bool:
    return "/" in token


def _is_fact(token: str) -> bool:
    """Tell whether a token is a name of code, a number, an option or a path, which must be equal to be the same."""
    if token[0].isdigit() or "/" in token or "_" in token or token.startswith("-"):
        return True
    return "." in token or (len(token) > 1 and any(letter.isupper() for letter in token[1:]))


_OPPOSITE_STEMS = frozenset(frozenset((stem(one), stem(other))) for one, other in _OPPOSITES)
_SLOT_STEMS = frozenset(stem(word) for word in _SLOT)
