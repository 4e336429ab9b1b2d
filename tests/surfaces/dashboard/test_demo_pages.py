"""Intents, Blame, Tests, Memory, Controller and Health, as they show the day of `cpl demo dashboard`."""

import re
from collections.abc import Iterator

import pytest

from surfaces.dashboard.support_demo import Demo, running_demo
from surfaces.dashboard.support_visitors import Visitor, log_in
from surfaces.support_processes import make_repo, make_sandbox, up

pytestmark = pytest.mark.slow
PATHS = ("/intents", "/blame", "/tests", "/memory", "/controller", "/health")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with running_demo(tmp_path_factory.mktemp("demo")) as running:
        yield running


@pytest.fixture(scope="module")
def visitor(demo: Demo) -> Visitor:
    return demo.visitor


def _expect(text: str, *parts: str) -> None:
    assert [part for part in parts if part not in text] == [], text[:3000]


def test_the_demo_has_a_lively_day(visitor: Visitor) -> None:
    _expect(visitor.text(""), "gemini-cli", "codex", "cursor", "claude-code", "the same failure")
    _expect(visitor.text("/approvals"), "it deletes src/orders/discounts.py")
    _expect(visitor.text("/operations?outcome=denied"), "Scope Violation", "INT-002")


def test_intents_are_listed_with_what_they_brought(visitor: Visitor) -> None:
    text = visitor.text("/intents")
    _expect(text, "Totals with tax", "src/orders/**", "the signature of total() stays", "active")
    assert re.search(r"INT-002 Discounts by customer group .* 1 2 ", text), text


def test_an_intent_shows_its_lines_its_files_its_commits_and_its_calls(visitor: Visitor) -> None:
    text = visitor.text("/intents/INT-001")
    _expect(
        text, "lines still there", "src/orders/totals.py 1 line", "REQ-12", "git_stage_and_commit", "run_test_targets"
    )
    assert "INT-003" not in text


def test_the_calls_of_an_intent_are_its_own(demo: Demo) -> None:
    rows = demo.server.get("/operations?intent=INT-003&limit=500").json["results"]
    assert {row["operation"] for row in rows} >= {"write_source"}
    assert {row["intent"] for row in rows} == {"INT-003"}


def test_blame_names_intent_agent_and_call_of_a_line(visitor: Visitor) -> None:
    page = visitor.get("/blame?path=src/orders/totals.py").body.decode()
    traced = re.findall(r'<tbody class="traced">(.*?)</tbody>', page, re.DOTALL)
    assert len(traced) == 1
    _expect(traced[0], "INT-001", "REQ-12", "claude-code", "/dashboard/operations/req_", "* 1.19, 2)")
    _expect(page, "def total(lines):", "untraced")


def test_blame_lists_the_files_to_choose_from(visitor: Visitor) -> None:
    _expect(visitor.text("/blame"), "src/payments/retry.py", "src/orders/discounts.py", "tests/test_totals.py")


@pytest.mark.parametrize("path", ["nowhere.py", "../outside.py", "%00", "src", "x%0Ay.py"])
def test_blame_of_what_is_no_file_says_so(visitor: Visitor, path: str) -> None:
    reply = visitor.get(f"/blame?path={path}")
    assert (reply.status, b'class="notice bad"' in reply.body) == (200, True)


@pytest.mark.parametrize("start", ["0", "-1", "x", "99999999999", "7"])
def test_blame_from_a_line_that_is_not_there_is_no_error(visitor: Visitor, start: str) -> None:
    assert visitor.get(f"/blame?path=src/orders/totals.py&start={start}").status == 200


def test_a_hostile_file_is_shown_as_text(demo: Demo) -> None:
    (demo.server.root / "src/hostile.py").write_text("# <script>alert(1)</script> \u202e\n" + "#\n" * 450, "utf-8")
    page = demo.visitor.get("/blame?path=src/hostile.py").body.decode()
    _expect(page, "&lt;script&gt;", "&lt;U+202E&gt;", "start=401")
    assert "<script>alert" not in page


def test_tests_show_runs_failures_and_durations(visitor: Visitor) -> None:
    page = visitor.get("/tests").body.decode()
    _expect(page, "AssertionError", "Totals::test_total", "pytest", "passed", 'class="failed"')
    assert len(re.findall(r"<rect class=", page)) == 6


def test_a_lesson_is_found(visitor: Visitor) -> None:
    text = visitor.text("/memory?q=empty+orders")
    _expect(text, "Lessons about “empty orders”", "Return 0 before the sum", "src/orders/totals.py")
    _expect(visitor.text("/memory?q=certificates"), "Nothing was learned about that.")


def test_friction_shows_codes_by_folder_and_stale_lessons(visitor: Visitor) -> None:
    text = visitor.text("/memory")
    _expect(text, "SCOPE_VIOLATION", "src/payments", "What repeats most", "What agents read most")
    _expect(text, "Stale lessons", "src/orders/totals.py changed")


def test_a_memory_is_approved_once(visitor: Visitor) -> None:
    form = {"memory": "mem-1", "decision": "approve"}
    _expect(visitor.text("/memory"), "pending", "mem-1")
    assert "mem-1 is in force." in visitor.act("/memory", form)
    assert "No memory waits for you." in visitor.text("/memory")
    again = visitor.act("/memory", {**form, "decision": "reject"})
    assert "mem-1 was rejected" not in again


def test_a_form_without_a_decision_does_nothing(visitor: Visitor) -> None:
    token = visitor.form_token()
    reply = visitor.post("/memory", {"form_token": token, "memory": "mem-1", "decision": "delete"})
    assert reply.status == 400


def test_runs_are_listed_with_their_state(visitor: Visitor) -> None:
    _expect(visitor.text("/controller"), "golden", "COMPLETED", "plan-2", "PLAN_REQUIRED", "PLAN_WEAK_MODEL_AMBIGUOUS")


def test_a_plan_is_drawn_with_what_its_pack_holds(visitor: Visitor) -> None:
    page = visitor.get("/controller/golden").body.decode()
    _expect(page, "n1 · change", "n3 · side_effect", "Context pack", "policy.generated-readonly", "monthly_rate")
    drawn = page.partition('<svg class="graph"')[2].partition("</svg>")[0]
    assert (drawn.count("<rect"), drawn.count("<path")) == (3, 2)


def test_a_refused_plan_says_why(visitor: Visitor) -> None:
    _expect(
        visitor.text("/controller/plan-1"),
        "The plan that was refused",
        "n1 · change",
        "PLAN_WEAK_MODEL_AMBIGUOUS",
        "/nodes/0/editIntent/summary",
        "as needed",
    )


def test_a_run_that_is_not_there_is_not_found(visitor: Visitor) -> None:
    assert visitor.get("/controller/nobody").status in {400, 404}


def test_health_shows_index_resources_records_and_gates(visitor: Visitor) -> None:
    text = visitor.text("/health")
    _expect(
        text, "python", "of processor time", "in the last minute", "claude", "in place", "sound", "SOUND", "enforce"
    )


def test_health_tells_of_the_index_by_language(demo: Demo) -> None:
    health = demo.server.get("/status/health").json
    assert health["languages"]["python"]["files_with_symbols"] >= 10
    assert sum(one["count"] for one in health["reconcile_durations"]) > 0
    assert health["resources"]["resident_memory_bytes"] > 0


def test_pages_link_to_json_that_is_there(visitor: Visitor) -> None:
    for path in (*PATHS, "/intents/INT-001", "/controller/golden", "/blame?path=src/orders/totals.py"):
        page = visitor.get(path).body.decode()
        links = re.findall(r'href="/dashboard(/rest/[^"]+)"', page)
        assert links, path
        answers = {link: visitor.get(link.replace("&amp;", "&")).status for link in links}
        assert set(answers.values()) == {200}, answers


@pytest.mark.parametrize("path", [*PATHS, "/memory?q=anything"])
def test_a_repository_without_anything_has_every_page(bare: Visitor, path: str) -> None:
    assert 'class="empty"' in bare.get(path).body.decode() or path == "/health"
    assert bare.get(path).status == 200


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    directory = tmp_path_factory.mktemp("bare")
    with make_sandbox(directory) as sandbox, up(sandbox, make_repo(sandbox, directory / "bare", {})) as server:
        yield log_in(server)
