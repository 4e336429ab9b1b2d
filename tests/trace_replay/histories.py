"""Rewritten git histories, told with the true owner of every surviving line.

Each scenario is a function that changes a fresh repository. `play` runs one with any two callbacks:
`edit(intent, path, text)` writes a file under an intent, and `git(*arguments)` runs git.
Nothing here knows how a trace is kept.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from trace_replay.story import FIRST, HUMAN, SECOND, THIRD, Edit, Git, Outcome, Story

Scenario = Callable[[Story], None]


def play(scenario: Scenario, root: Path, seed: int, edit: Edit, git: Git) -> Outcome:
    """Run a scenario in an empty directory and return the truth about its final files."""
    return tell(scenario, root, seed, edit, git).outcome()


def tell(scenario: Scenario, root: Path, seed: int, edit: Edit, git: Git) -> Story:
    """Run a scenario and return its book."""
    story = Story(root, Random(f"{scenario.__name__} {seed}"), edit, git)
    scenario(story)
    return story


# Plain work


def uncommitted_edits(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.add(SECOND, 2)


def new_file_then_commit(story: Story) -> None:
    story.start()
    made = story.lines(FIRST)
    story.write(FIRST, "lib/new.py", made)
    story.keep(made)
    story.commit("new file")


def interleaved_edits_of_two_intents(story: Story) -> None:
    story.start()
    for section in range(4):
        first = story.add(FIRST, section)
        story.replace(SECOND, first[:1])
    story.commit("both at once")


def line_taken_over_by_another_intent(story: Story) -> None:
    story.start()
    first = story.add(FIRST, 1)
    story.commit("first")
    second = story.replace(SECOND, first)
    story.commit("second")
    story.replace(THIRD, second[1:])
    story.commit("third")


def human_edits_between_agent_edits(story: Story) -> None:
    story.start()
    first = story.add(FIRST, 0)
    story.replace(HUMAN, first[:1])
    story.add(SECOND, 0)
    story.add(HUMAN, 3)
    story.commit("mixed")
    story.add(FIRST, 3)
    story.commit("more")


def human_commits_alone(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.commit("agent")
    story.add(HUMAN, 0)
    story.add(HUMAN, 2)
    story.commit("person")


# Amend, rebase, squash


def amend_with_more_work(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.commit("work")
    story.add(SECOND, 2)
    story.commit("work, amended", "--amend")


def amend_that_drops_lines(story: Story) -> None:
    story.start()
    first = story.add(FIRST, 1)
    story.commit("work")
    story.remove(HUMAN, first[:1])
    story.commit("less work", "--amend")


def _two_commits(story: Story) -> tuple[str, str, str]:
    story.start()
    base = story.head()
    story.add(FIRST, 0)
    one = story.commit("one")
    story.add(SECOND, 2)
    return base, one, story.commit("two")


def reorder_two_commits(story: Story) -> None:
    base, one, two = _two_commits(story)
    story.rebase(base, f"pick {two}", f"pick {one}")


def squash_two_commits(story: Story) -> None:
    base, one, two = _two_commits(story)
    story.rebase(base, f"pick {one}", f"squash {two}")


def fixup_of_an_older_commit(story: Story) -> None:
    base, one, two = _two_commits(story)
    story.add(THIRD, 1)
    three = story.commit("three")
    story.rebase(base, f"pick {one}", f"fixup {three}", f"pick {two}")


def autosquash(story: Story) -> None:
    base, one, _ = _two_commits(story)
    story.add(THIRD, 3)
    story.git("commit", "--quiet", "--all", f"--fixup={one}")
    story.git("-c", "sequence.editor=true", "rebase", "--quiet", "-i", "--autosquash", base)


def drop_a_commit(story: Story) -> None:
    story.start()
    base = story.head()
    story.lose(story.add(FIRST, 0))
    one = story.commit("one")
    story.add(SECOND, 2)
    two = story.commit("two")
    story.rebase(base, f"drop {one}", f"pick {two}")


def split_a_commit(story: Story) -> None:
    story.start("app.py", "lib.py")
    story.add(FIRST, 0)
    story.add(SECOND, 1, "lib.py")
    story.commit("both")
    story.git("reset", "--quiet", "HEAD~1")
    for path in ("app.py", "lib.py"):
        story.git("add", path)
        story.git("commit", "--quiet", "-m", f"only {path}")


def reword_the_last_commits(story: Story) -> None:
    base, one, two = _two_commits(story)
    story.rebase(base, f"reword {one}", f"reword {two}")


def rebase_onto_a_moved_main(story: Story) -> None:
    story.start()
    story.branch("topic")
    story.add(FIRST, 0)
    story.commit("topic one")
    story.add(SECOND, 1)
    story.commit("topic two")
    story.switch("main")
    story.add(HUMAN, 3)
    story.commit("main moves")
    story.switch("topic")
    story.git("rebase", "--quiet", "main")


def rebase_onto_another_base(story: Story) -> None:
    story.start()
    story.branch("old-base")
    story.lose(story.add(FIRST, 0))
    story.commit("not wanted")
    story.branch("topic")
    story.add(SECOND, 2)
    story.commit("wanted")
    story.switch("main")
    story.add(THIRD, 3)
    story.commit("main moves")
    story.git("rebase", "--quiet", "--onto", "main", "old-base", "topic")


def _conflict(story: Story) -> tuple[list[str], list[str]]:
    """Change the same lines on `topic` (current branch afterwards) and on `main`."""
    story.start()
    place = story.base["app.py"][10:12]
    story.branch("topic")
    ours = story.replace(FIRST, place)
    story.commit("topic")
    story.switch("main")
    theirs = story.replace(SECOND, place)
    story.commit("main")
    story.switch("topic")
    return ours, theirs


def _resolve(story: Story, owner: str, kept: list[str]) -> None:
    """Write the file without conflict marks: the kept lines and one of the owner."""
    found = story.read("app.py")
    first = next(i for i, line in enumerate(found) if line.startswith("<<<<<<<"))
    last = next(i for i, line in enumerate(found) if line.startswith(">>>>>>>"))
    made = story.lines(owner, 1)
    story.write(owner, "app.py", [*found[:first], *kept, *made, *found[last + 1 :]])
    story.keep(made)
    story.git("add", "app.py")


def rebase_with_a_conflict(story: Story) -> None:
    ours, theirs = _conflict(story)
    story.git("rebase", "--quiet", "main", check=False)
    _resolve(story, THIRD, [*theirs, *ours[:1]])
    story.lose(ours[1:])
    story.git("-c", "core.editor=true", "rebase", "--continue")


def rebase_that_is_given_up(story: Story) -> None:
    _, theirs = _conflict(story)
    story.git("rebase", "--quiet", "main", check=False)
    story.git("rebase", "--abort")
    story.lose(theirs)


# Cherry-pick, revert, patches


def cherry_pick(story: Story) -> None:
    story.start()
    story.branch("topic")
    story.add(FIRST, 0)
    picked = story.commit("picked")
    story.lose(story.add(SECOND, 2))
    story.commit("left behind")
    story.switch("main")
    story.add(THIRD, 3)
    story.commit("main moves")
    story.git("cherry-pick", picked)


def cherry_pick_without_commit(story: Story) -> None:
    story.start()
    story.branch("topic")
    story.add(FIRST, 0)
    picked = story.commit("picked")
    story.switch("main")
    story.git("cherry-pick", "--no-commit", picked)
    story.add(SECOND, 2)
    story.commit("picked with more work")


def cherry_pick_with_a_conflict(story: Story) -> None:
    ours, theirs = _conflict(story)
    story.git("cherry-pick", "main", check=False)
    _resolve(story, HUMAN, [*ours, *theirs])
    story.git("-c", "core.editor=true", "cherry-pick", "--continue")


def revert_of_a_removal(story: Story) -> None:
    story.start()
    first = story.add(FIRST, 1)
    story.commit("add")
    story.remove(SECOND, first)
    story.commit("remove")
    story.git("revert", "--no-edit", "HEAD")
    story.keep(first)


def revert_drops_an_intent(story: Story) -> None:
    _, one, _ = _two_commits(story)
    story.git("revert", "--no-edit", one)
    story.lose_all_of(FIRST)


def revert_of_a_revert(story: Story) -> None:
    story.start()
    first = story.add(FIRST, 0)
    story.commit("add")
    story.git("revert", "--no-edit", "HEAD")
    story.add(SECOND, 2)
    story.commit("meanwhile")
    story.git("revert", "--no-edit", "HEAD~1")
    story.keep(first)


def patches_by_mail(story: Story) -> None:
    base, _, _ = _two_commits(story)
    folder = story.beside("patches")
    story.git("format-patch", "--quiet", "--output-directory", str(folder), base)
    story.git("reset", "--quiet", "--hard", base)
    story.add(THIRD, 3)
    story.commit("main moves")
    story.git("am", "--quiet", *(str(path) for path in sorted(folder.iterdir())))


def diff_applied_by_hand(story: Story) -> None:
    story.start()
    story.branch("topic")
    story.add(FIRST, 0)
    story.commit("topic")
    patch = story.beside("change.diff")
    patch.write_text(story.git("diff", "main", "topic"), encoding="utf-8")
    story.switch("main")
    story.add(SECOND, 3)
    story.git("apply", str(patch))
    story.commit("applied")


# Merges


def _diverged(story: Story) -> None:
    """Leave `main` current, with work of its own and a branch `topic` of two intents."""
    story.start()
    story.branch("topic")
    story.add(FIRST, 0)
    story.commit("topic one")
    story.add(SECOND, 1)
    story.commit("topic two")
    story.switch("main")
    story.add(THIRD, 3)
    story.commit("main moves")


def merge_of_a_branch(story: Story) -> None:
    _diverged(story)
    story.git("merge", "--quiet", "--no-edit", "topic")


def squash_merge_of_two_intents(story: Story) -> None:
    _diverged(story)
    story.git("merge", "--squash", "topic")
    story.git("commit", "--quiet", "-m", "squashed")


def squash_merge_then_branch_deleted(story: Story) -> None:
    squash_merge_of_two_intents(story)
    story.git("branch", "--quiet", "-D", "topic")
    story.git("reflog", "expire", "--expire=now", "--all")
    story.git("gc", "--quiet", "--prune=now")


def fast_forward_merge(story: Story) -> None:
    story.start()
    story.branch("topic")
    story.add(FIRST, 0)
    story.commit("topic")
    story.switch("main")
    story.git("merge", "--quiet", "--ff-only", "topic")


def merge_with_a_conflict(story: Story) -> None:
    ours, theirs = _conflict(story)
    story.git("merge", "--quiet", "--no-edit", "main", check=False)
    _resolve(story, THIRD, [*ours[:1], *theirs])
    story.lose(ours[1:])
    story.git("commit", "--quiet", "--no-edit")


def merge_that_takes_one_side(story: Story) -> None:
    ours, _ = _conflict(story)
    story.git("merge", "--quiet", "--no-edit", "-X", "theirs", "main")
    story.lose(ours)


def merge_of_two_branches_at_once(story: Story) -> None:
    story.start()
    for section, (owner, name) in enumerate(((FIRST, "one"), (SECOND, "two"))):
        story.branch(name, "main")
        story.add(owner, section * 2)
        story.commit(name)
    story.switch("main")
    story.add(THIRD, 3)
    story.commit("main moves")
    story.git("merge", "--quiet", "--no-edit", "one")
    story.git("merge", "--quiet", "--no-edit", "two")


# Stash and reset


def stash_and_pop(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.git("stash", "push", "--quiet")
    story.add(SECOND, 2)
    story.commit("meanwhile")
    story.git("stash", "pop", "--quiet")


def stash_applied_on_another_branch(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.git("stash", "push", "--quiet")
    story.branch("other")
    story.add(SECOND, 2)
    story.commit("other")
    story.git("stash", "apply", "--quiet")
    story.commit("stashed work")


def stash_with_untracked_files(story: Story) -> None:
    story.start()
    made = story.lines(FIRST)
    story.write(FIRST, "fresh.py", made)
    story.add(SECOND, 1)
    story.git("stash", "push", "--quiet", "--include-untracked")
    story.git("stash", "pop", "--quiet")
    story.keep(made)
    story.commit("all")


def stash_that_is_dropped(story: Story) -> None:
    story.start()
    story.lose(story.add(FIRST, 0))
    story.git("stash", "push", "--quiet")
    story.git("stash", "drop", "--quiet")
    story.add(SECOND, 0)


def soft_reset_into_one_commit(story: Story) -> None:
    base, _, _ = _two_commits(story)
    story.git("reset", "--quiet", "--soft", base)
    story.git("commit", "--quiet", "-m", "one commit")


def mixed_reset_left_uncommitted(story: Story) -> None:
    base, _, _ = _two_commits(story)
    story.git("reset", "--quiet", "--mixed", base)
    story.add(THIRD, 3)


def hard_reset_then_new_work(story: Story) -> None:
    story.start()
    base = story.head()
    story.lose(story.add(FIRST, 0))
    story.commit("lost")
    story.git("reset", "--quiet", "--hard", base)
    story.add(SECOND, 0)
    story.commit("kept")


def hard_reset_back_from_the_reflog(story: Story) -> None:
    base, _, two = _two_commits(story)
    story.git("reset", "--quiet", "--hard", base)
    story.git("reset", "--quiet", "--hard", two)


# Branches, tags, worktrees, clones


def switch_between_branches(story: Story) -> None:
    story.start()
    story.branch("topic")
    topic = story.add(FIRST, 0)
    story.commit("topic")
    story.switch("main")
    story.lose(story.add(SECOND, 0))
    story.commit("main")
    story.switch("topic")
    story.keep(topic)


def uncommitted_work_carried_to_a_branch(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.branch("topic")
    story.add(SECOND, 2)
    story.commit("carried")


def detached_checkout_of_a_tag(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.commit("tagged")
    story.git("tag", "v1")
    story.lose(story.add(SECOND, 2))
    story.commit("later")
    story.switch("v1")


def orphan_branch(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.commit("work")
    story.git("checkout", "--quiet", "--orphan", "fresh")
    story.add(SECOND, 2)
    story.commit("history starts again")


def work_in_a_linked_worktree(story: Story) -> None:
    story.start()
    linked = story.beside("linked")
    story.git("worktree", "add", "--quiet", "-b", "topic", str(linked))
    story.add(FIRST, 0, at=linked)
    story.commit("in the worktree", at=linked)
    story.add(SECOND, 3)
    story.commit("in the main tree")
    story.git("merge", "--quiet", "--no-edit", "topic")


def clone_from_a_bundle(story: Story) -> None:
    _two_commits(story)
    bundle, clone = story.beside("all.bundle"), story.beside("clone")
    story.git("bundle", "create", "--quiet", str(bundle), "main")
    story.git("clone", "--quiet", "--branch", "main", str(bundle), str(clone))
    story.ends_in = clone


def shallow_clone(story: Story) -> None:
    _two_commits(story)
    clone = story.beside("clone")
    story.git("clone", "--quiet", "--depth=1", f"file://{story.root}", str(clone))
    story.ends_in = clone


def _colleague(story: Story) -> Path:
    """Share the repository, and let a colleague push a commit to it."""
    shared, other = story.beside("shared.git"), story.beside("colleague")
    story.git("clone", "--quiet", "--bare", str(story.root), str(shared))
    story.git("remote", "add", "origin", str(shared))
    story.git("fetch", "--quiet", "origin")
    story.git("clone", "--quiet", str(shared), str(other))
    story.add(HUMAN, 3, at=other)
    story.commit("of a colleague", at=other)
    story.git("-C", str(other), "push", "--quiet", "origin", "main")
    return other


def fast_forward_pull(story: Story) -> None:
    _two_commits(story)
    _colleague(story)
    story.git("pull", "--quiet", "--ff-only", "origin", "main")


def pull_with_rebase(story: Story) -> None:
    story.start()
    _colleague(story)
    story.add(FIRST, 0)
    story.commit("local")
    story.git("pull", "--quiet", "--rebase", "origin", "main")


def pull_with_merge(story: Story) -> None:
    story.start()
    _colleague(story)
    story.add(FIRST, 0)
    story.commit("local")
    story.git("pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")


def forge_squashes_the_branch(story: Story) -> None:
    story.start()
    other = _colleague(story)
    story.git("pull", "--quiet", "--ff-only", "origin", "main")
    story.branch("topic")
    story.add(FIRST, 0)
    story.commit("one")
    story.add(SECOND, 1)
    story.commit("two")
    story.git("push", "--quiet", "origin", "topic")
    story.git("-C", str(other), "fetch", "--quiet")
    story.git("-C", str(other), "merge", "--squash", "origin/topic")
    story.git("-C", str(other), "commit", "--quiet", "-m", "squashed far away")
    story.git("-C", str(other), "push", "--quiet", "origin", "main")
    story.switch("main")
    story.git("pull", "--quiet", "--ff-only", "origin", "main")
    story.git("branch", "--quiet", "-D", "topic")


# Files that move


def rename_of_a_file(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.commit("work")
    story.git("mv", "app.py", "main.py")
    story.commit("rename")


def rename_with_edits(story: Story) -> None:
    story.start()
    first = story.add(FIRST, 0)
    story.commit("work")
    story.git("mv", "app.py", "main.py")
    story.replace(SECOND, first[:1], "main.py")
    story.commit("rename and edit")


def rename_on_one_side_of_a_merge(story: Story) -> None:
    story.start()
    story.branch("topic")
    story.git("mv", "app.py", "main.py")
    story.commit("rename")
    story.switch("main")
    story.add(FIRST, 1)
    story.commit("edit")
    story.git("merge", "--quiet", "--no-edit", "topic")


def move_of_a_directory(story: Story) -> None:
    story.start("pkg/a.py", "pkg/b.py")
    story.add(FIRST, 0, "pkg/a.py")
    story.add(SECOND, 2, "pkg/b.py")
    story.commit("work")
    (story.root / "src").mkdir()
    story.git("mv", "pkg", "src/pkg")
    story.commit("move")


def file_moved_without_git(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    (story.root / "lib").mkdir()
    (story.root / "app.py").rename(story.root / "lib/app.py")
    story.commit("moved")


def copy_of_a_file(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.commit("work")
    shutil.copy(story.root / "app.py", story.root / "copy.py")
    story.commit("copy")
    story.add(SECOND, 2)
    story.commit("the first goes on")


def two_files_swap_names(story: Story) -> None:
    story.start("app.py", "lib.py")
    story.add(FIRST, 0)
    story.add(SECOND, 0, "lib.py")
    story.commit("work")
    story.git("mv", "app.py", "third.py")
    story.git("mv", "lib.py", "app.py")
    story.git("mv", "third.py", "lib.py")
    story.commit("swap")


def delete_and_restore(story: Story) -> None:
    story.start()
    story.add(FIRST, 1)
    kept = story.commit("work")
    story.git("rm", "--quiet", "app.py")
    story.write(HUMAN, "other.py", story.lines(HUMAN))
    story.commit("delete")
    story.git("checkout", "--quiet", kept, "--", "app.py")
    story.commit("restore")


# Text that moves or changes its form


def _move_function(story: Story, owner: str) -> None:
    story.start("app.py", "lib.py")
    body = story.add(FIRST, 1, new=story.function(FIRST))
    story.add(SECOND, 3, new=story.function(SECOND))
    story.commit("work")
    found = story.read("app.py")
    first = found.index(body[0])
    story.write(owner, "app.py", [*found[:first], *found[first + len(body) :]])
    story.add(owner, 2, "lib.py", new=body)
    story.blame_also(owner, body)
    story.commit("move")


def function_moved_by_a_person(story: Story) -> None:
    _move_function(story, HUMAN)


def function_moved_by_another_intent(story: Story) -> None:
    _move_function(story, THIRD)


def lines_moved_inside_a_file(story: Story) -> None:
    story.start()
    first = story.add(FIRST, 0)
    story.add(SECOND, 2)
    story.commit("work")
    rest = [line for line in story.read("app.py") if line not in first]
    story.write(HUMAN, "app.py", [*rest, *first])
    story.commit("moved to the end")


def lines_sorted(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.add(SECOND, 2)
    story.write(HUMAN, "app.py", sorted(story.read("app.py")))
    story.commit("sorted")


def identical_lines_of_two_intents(story: Story) -> None:
    story.start()
    story.add(FIRST, 0, new=story.function(FIRST))
    story.commit("one")
    story.add(SECOND, 0, new=story.function(SECOND))
    story.add(HUMAN, 2, new=story.function(HUMAN))
    story.commit("two")


def _spread(line: str) -> str:
    return line.replace(" = ", "=").replace("=", "   =   ")


def formatter_over_a_file(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.add(SECOND, 2)
    story.commit("work")
    story.rewrite("app.py", _spread)
    story.commit("format")


def formatter_under_another_intent(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.commit("work")
    story.rewrite_under(SECOND, "app.py", _spread)
    story.add(THIRD, 2)
    story.commit("format and more")


def indentation_changed(story: Story) -> None:
    story.start()
    story.add(FIRST, 1)
    story.rewrite("app.py", lambda line: f"    {line}")
    story.commit("indented")


def whitespace_at_line_ends(story: Story) -> None:
    story.start()
    story.add(FIRST, 1)
    story.commit("work")
    story.rewrite("app.py", lambda line: f"{line}  ")
    story.commit("blanks at line ends")


def line_ends_flipped(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    story.add(SECOND, 3)
    story.commit("work")
    story.change_line_ends("app.py", b"\n", b"\r\n")
    story.commit("CRLF")


def line_ends_flipped_and_back(story: Story) -> None:
    line_ends_flipped(story)
    story.change_line_ends("app.py", b"\r\n", b"\n")
    story.commit("LF")


def last_newline_removed(story: Story) -> None:
    story.start()
    made = story.lines(FIRST)
    story.write(FIRST, "end.py", made)
    story.keep(made)
    story.commit("work")
    path = story.root / "end.py"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    story.commit("no newline at the end")


def format_then_rename_then_squash(story: Story) -> None:
    base, _, _ = _two_commits(story)
    story.rewrite("app.py", _spread)
    story.commit("format")
    story.git("mv", "app.py", "main.py")
    story.commit("rename")
    story.git("reset", "--quiet", "--soft", base)
    story.git("commit", "--quiet", "-m", "all in one")


# Parts of the work


def part_of_a_file_staged(story: Story) -> None:
    story.start()
    story.add(FIRST, 0)
    patch = story.beside("part.diff")
    patch.write_text(story.git("diff"), encoding="utf-8")
    story.add(SECOND, 3)
    story.git("apply", "--cached", str(patch))
    story.git("commit", "--quiet", "-m", "only the first part")


def part_committed_and_the_rest_thrown_away(story: Story) -> None:
    part_of_a_file_staged(story)
    story.git("checkout", "--quiet", "--", "app.py")
    story.lose_all_of(SECOND)


def only_one_path_committed(story: Story) -> None:
    story.start("app.py", "lib.py")
    story.add(FIRST, 0)
    story.add(SECOND, 1, "lib.py")
    story.git("commit", "--quiet", "--only", "lib.py", "-m", "only lib.py")


def staged_then_edited_again(story: Story) -> None:
    story.start()
    first = story.add(FIRST, 1)
    story.git("add", "app.py")
    story.replace(SECOND, first[:1])
    story.git("commit", "--quiet", "-m", "the staged state")
    story.commit("the rest")


def one_file_restored_from_another_branch(story: Story) -> None:
    story.start("app.py", "lib.py")
    story.branch("topic")
    story.add(FIRST, 0)
    story.lose(story.add(SECOND, 0, "lib.py"))
    story.commit("topic")
    story.switch("main")
    story.git("checkout", "--quiet", "topic", "--", "app.py")
    story.commit("taken over")


def random_walk(story: Story) -> None:
    """Mix edits with rewrites in random order."""
    story.start()
    base = story.head()
    for turn in range(8):
        owner = story.rng.choice((FIRST, SECOND, THIRD, HUMAN))
        story.add(owner, story.rng.randrange(4))
        story.commit(f"turn {turn}", *story.rng.choice(((), (), ("--amend",) if turn else ())))
        if story.rng.random() < 0.3:
            story.git("reset", "--quiet", story.rng.choice(("--soft", "--mixed")), base)
            story.commit("folded")


SCENARIOS: tuple[Scenario, ...] = (
    uncommitted_edits,
    new_file_then_commit,
    interleaved_edits_of_two_intents,
    line_taken_over_by_another_intent,
    human_edits_between_agent_edits,
    human_commits_alone,
    amend_with_more_work,
    amend_that_drops_lines,
    reorder_two_commits,
    squash_two_commits,
    fixup_of_an_older_commit,
    autosquash,
    drop_a_commit,
    split_a_commit,
    reword_the_last_commits,
    rebase_onto_a_moved_main,
    rebase_onto_another_base,
    rebase_with_a_conflict,
    rebase_that_is_given_up,
    cherry_pick,
    cherry_pick_without_commit,
    cherry_pick_with_a_conflict,
    revert_of_a_removal,
    revert_drops_an_intent,
    revert_of_a_revert,
    patches_by_mail,
    diff_applied_by_hand,
    merge_of_a_branch,
    squash_merge_of_two_intents,
    squash_merge_then_branch_deleted,
    fast_forward_merge,
    merge_with_a_conflict,
    merge_that_takes_one_side,
    merge_of_two_branches_at_once,
    stash_and_pop,
    stash_applied_on_another_branch,
    stash_with_untracked_files,
    stash_that_is_dropped,
    soft_reset_into_one_commit,
    mixed_reset_left_uncommitted,
    hard_reset_then_new_work,
    hard_reset_back_from_the_reflog,
    switch_between_branches,
    uncommitted_work_carried_to_a_branch,
    detached_checkout_of_a_tag,
    orphan_branch,
    work_in_a_linked_worktree,
    clone_from_a_bundle,
    shallow_clone,
    fast_forward_pull,
    pull_with_rebase,
    pull_with_merge,
    forge_squashes_the_branch,
    rename_of_a_file,
    rename_with_edits,
    rename_on_one_side_of_a_merge,
    move_of_a_directory,
    file_moved_without_git,
    copy_of_a_file,
    two_files_swap_names,
    delete_and_restore,
    function_moved_by_a_person,
    function_moved_by_another_intent,
    lines_moved_inside_a_file,
    lines_sorted,
    identical_lines_of_two_intents,
    formatter_over_a_file,
    formatter_under_another_intent,
    indentation_changed,
    whitespace_at_line_ends,
    line_ends_flipped,
    line_ends_flipped_and_back,
    last_newline_removed,
    format_then_rename_then_squash,
    part_of_a_file_staged,
    part_committed_and_the_rest_thrown_away,
    only_one_path_committed,
    staged_then_edited_again,
    one_file_restored_from_another_branch,
    random_walk,
)
