"""The names of upstreams' tools: whatever servers call them, agents accept them and no two are equal."""

import re
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.tool_list import FOREIGN_MARK
from codeplane.operations.upstream_names import MAX_NAME, SEPARATOR, server_names, tool_names

ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAMES = st.one_of(
    st.text(min_size=1, max_size=90),
    st.text("aA_-. /\x00é", min_size=1, max_size=12),
    st.text("ab_-0123456789abcdef", min_size=50, max_size=80),
)


@given(st.dictionaries(NAMES, st.sets(NAMES, max_size=12), min_size=1, max_size=6), st.randoms())
def test_every_name_is_accepted_by_agents_tells_its_server_and_is_the_only_one(
    servers: dict[str, set[str]], order: Random
) -> None:
    prefixes = server_names(servers)
    named = {server: tool_names(prefixes[server], tools) for server, tools in servers.items()}
    found = {(server, tool): name for server, tools in named.items() for tool, name in tools.items()}
    assert all(ACCEPTED.fullmatch(name) for name in found.values())
    assert len(set(found.values())) == len(found)
    assert all(name.partition(SEPARATOR)[0] == prefixes[server] for (server, _), name in found.items())
    shuffled = list(servers)
    order.shuffle(shuffled)
    assert server_names(shuffled) == prefixes
    for server, tools in servers.items():
        again = list(tools)
        order.shuffle(again)
        assert tool_names(prefixes[server], again) == tool_names(prefixes[server], tools)


def test_plain_names_stay_as_policies_and_hooks_know_them() -> None:
    assert server_names(["github"]) == {"github": "github"}
    assert tool_names("github", ["create_issue", "list-issues"]) == {
        "create_issue": "github__create_issue",
        "list-issues": "github__list-issues",
    }


def test_a_tool_cannot_take_the_name_of_another_one() -> None:
    found = tool_names("a", ["x.y", "x_y", "x y"])
    assert found["x_y"] == "a__x_y"
    assert len(set(found.values())) == 3


def test_no_server_can_pass_for_ours_or_for_another_one() -> None:
    found = server_names(["codeplane", "a__b", "a", "a_"])
    assert found["codeplane"] != "codeplane"
    assert found["a"] == "a"
    assert len(set(found.values())) == 4
    assert not any(SEPARATOR in name or name.endswith("_") for name in found.values())


def test_long_names_are_cut_to_what_agents_accept_and_marked() -> None:
    (name,) = tool_names("server", ["t" * 100]).values()
    assert len(name) == MAX_NAME
    assert re.fullmatch(r"server__t+-[0-9a-f]{8}", name)


def test_no_operation_of_ours_looks_like_a_tool_of_an_upstream() -> None:
    assert not [name for name in OPERATIONS if FOREIGN_MARK in name]
