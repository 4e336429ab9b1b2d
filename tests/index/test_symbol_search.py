"""Names that begin with or hold what was asked are found as reading them one by one finds them."""

from hypothesis import given
from hypothesis import strategies as st

from codeplane.index.symbol_search import Match, _containing
from support.effort import examples

_NAMES = st.sets(st.text("abä\ud800", min_size=1, max_size=7), max_size=30)


@given(names=_NAMES, key=st.text("abä\ud800\n", max_size=4))
@examples(150)
def test_names_that_hold_a_key_come_shortest_first(names: set[str], key: str) -> None:
    listing = "\n".join(sorted(names)).encode("utf-8", "surrogatepass")
    found = list(_containing(key, listing))
    told = [(match, name) for match, group in found for name in group]
    is_name = bool(key) and "\n" not in key
    begins = sorted((len(name), name) for name in names if is_name and name.startswith(key) and name != key)
    holds = sorted((len(name), name) for name in names if is_name and key in name and not name.startswith(key))
    assert told == [
        *((Match.PREFIX, name) for _, name in begins),
        *((Match.PART, name) for _, name in holds if len(key) >= 3),
    ]
    assert all(len({len(name) for name in group}) == 1 for _, group in found)
