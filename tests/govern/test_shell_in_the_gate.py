"""Commands in the gate: SAFE ones pass, others wait for a person or an accepted rule."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.policies.human_approval import HumanApproval
from codeplane.govern.policies.risk import dangers_of
from codeplane.govern.rulebook import Mode, PolicyText, Rulebook, RuleTexts, Tier, read_rules
from codeplane.govern.shell_risk.classifier import classify
from codeplane.govern.shell_risk.git_settings import settings_that_run
from codeplane.govern.shell_risk.surroundings import find_root, look_around, why_git_runs_helpers
from codeplane.ledger.policy import Verdict


def _rules(text: str = "", *, is_accepted: bool = True) -> Rulebook:
    policies = (PolicyText(Tier.REPOSITORY, text, is_accepted),) if text else ()
    return read_rules(RuleTexts(Mode.OFF, None, None, policies=policies))


def _call(command: str, git_runs_helpers: str = "") -> GovernedCall:
    return GovernedCall(
        "run_command", "execute", True, False, "mcp", "s", 0, commands=(command,), git_runs_helpers=git_runs_helpers
    )


def test_a_reader_is_no_danger_and_a_writer_is() -> None:
    assert dangers_of(_call("git status && cat README.md"), _rules()) == ()
    assert dangers_of(_call("rm x"), _rules()) == ("runs `rm x` (deletes x)",)
    assert dangers_of(_call("git status", "core.fsmonitor"), _rules()) != ()
    assert dangers_of(_call("cat [redacted:environment]"), _rules()) != ()


def test_what_the_environment_changes_counts_in_the_gate() -> None:
    assert dangers_of(_call("less README.md"), _rules()) == ()
    assert dangers_of(replace(_call("less README.md"), variables=("LESSOPEN",)), _rules()) != ()
    assert dangers_of(replace(_call("cat README.md"), shadowed=("cat",)), _rules()) != ()


def test_a_verification_is_held_until_an_accepted_rule_allows_it() -> None:
    text = "rules:\n  - {id: checks, decide: allow, effects: [verification]}\n"
    policy = HumanApproval()
    held = policy.judge(_call("npm test"), _rules())
    assert held is not None
    assert held.verdict is Verdict.HOLD
    for is_accepted, verdict in ((False, Verdict.HOLD), (True, Verdict.ALLOW)):
        opinion = policy.judge(_call("npm test"), _rules(text, is_accepted=is_accepted))
        assert opinion is not None
        assert opinion.verdict is verdict
    other = policy.judge(_call("rm x"), _rules(text))
    assert other is not None
    assert other.verdict is Verdict.HOLD


def test_an_accepted_policy_widens_what_only_reads_and_what_verifies() -> None:
    text = "read_only:\n  commands: ['cargo tree', 'kubectl get *']\nverification: [unit, 'make check']\n"
    for is_accepted in (True, False):
        rules = _rules(text, is_accepted=is_accepted)
        assert (dangers_of(_call("cargo tree"), rules) == ()) is is_accepted
        assert (dangers_of(_call("kubectl get pods | head"), rules) == ()) is is_accepted
    assert "to check it" in dangers_of(_call("npm run unit"), _rules(text))[0]
    assert "to check it" in dangers_of(_call("make check"), _rules(text))[0]
    for command in ("cargo tree > x", "kubectl get -w", "kubectl get $(x)", "kubectl get", "cargo tree; rm x"):
        assert dangers_of(_call(command), _rules(text)) != ()


def test_a_recorded_call_is_judged_alike() -> None:
    call = _call("git log", "core.fsmonitor")
    again = GovernedCall.from_dict(call.as_dict())
    assert dangers_of(again, _rules()) == dangers_of(call, _rules()) != ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[core]\n\tbare = false\n", []),
        ("[core]\n\tfsmonitor = false\n", []),
        ("[core]\n\tfsmonitor\n", ["core.fsmonitor"]),
        ("[CORE]\n FsMonitor = ./x # y\n", ["core.fsmonitor"]),
        ('[diff "a.b"]\n\ttextconv = x\n', ["diff.a.b.textconv"]),
        ("[diff.evil] command = x\n", ["diff.evil.command"]),
        ("[core] pager = \\\n x\n", ["core.pager"]),
        ('[filter "lfs"]\n\tprocess = git-lfs filter-process\n', ["filter.lfs.process"]),
        ('[includeIf "gitdir:x"]\n\tpath = y\n', ["includeif.gitdir:x.path"]),
        ('[remote "origin"]\n\turl = x\n\tpromisor = true\n', ["remote.origin.promisor"]),
    ],
)
def test_settings_that_start_programs_are_found(text: str, found: list[str]) -> None:
    assert list(settings_that_run(text)) == found


def test_the_place_is_looked_at_without_running_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--template=", str(tmp_path / "repo")], check=True)
    root = tmp_path / "repo"
    (root / "src").mkdir()
    (root / "link").symlink_to("/etc")
    (root / "bin").mkdir()
    (root / "bin/ls").write_text("")
    assert find_root(root / "src") == root
    assert why_git_runs_helpers(root / "src") == ""
    found = look_around(root, root, {"PATH": f"{root}/bin:/usr/bin", "LD_PRELOAD": "x"}, "cat link/passwd")
    assert (found.leading_away, found.shadowed, found.variables) == (("link",), ("ls",), ("LD_PRELOAD",))
    (root / ".git/config").write_text("[core]\n\tfsmonitor = ./x\n")
    assert why_git_runs_helpers(root / "src") == "core.fsmonitor"


def _place(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", "--template=", str(root)], check=True)
    (root / "src/deep").mkdir(parents=True)
    (root / "up").symlink_to("src/deep")
    return root


def _verdict(command: str, root: Path, cwd: str = ".") -> str:
    place = root / cwd
    return classify(command, "bash", look_around(root, place, {"PATH": "/usr/bin"}, command)).verdict.value


def test_a_link_before_going_up_is_followed_as_the_system_does(tmp_path: Path) -> None:
    root = _place(tmp_path)
    assert _verdict("cat up/x", root) == "SAFE"
    assert _verdict("cat src/../x", root) == "SAFE"
    assert _verdict("cat up/../../../x", root) == "DESTRUCTIVE"
    assert _verdict("cat up/../x", root) == "DESTRUCTIVE"
    assert _verdict("cd up && cat ../x", root) == "DESTRUCTIVE"


def test_git_after_cd_is_safe_only_in_the_same_repository(tmp_path: Path) -> None:
    root = _place(tmp_path)
    assert _verdict("cd src && git log", root) == "SAFE"
    assert _verdict(f"cd {root} && git status", root, "src") == "SAFE"
    subprocess.run(["git", "init", "-q", "--template=", str(root / "src/deep")], check=True)
    assert _verdict("cd src/deep && git log", root) == "DESTRUCTIVE"
    assert _verdict("cd src && cd deep && git log", root) == "DESTRUCTIVE"
    assert _verdict("cd src; cd deep; git log", root) == "DESTRUCTIVE"
    assert _verdict("git log", root) == "SAFE"


def test_a_rule_for_verification_covers_nothing_beside_it() -> None:
    text = "rules:\n  - {id: checks, decide: allow, effects: [verification]}\n"
    call = replace(_call("npm test"), deletes=("a.py",))
    opinion = HumanApproval().judge(call, _rules(text))
    assert opinion is not None
    assert opinion.verdict is Verdict.HOLD
