"""Marks of life: a lock that can be taken belongs to a process that is gone."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codeplane.ledger.owners import Ownership


def test_an_owner_that_lives_is_not_inherited(tmp_path: Path) -> None:
    alive = Ownership(tmp_path / "owners", "own-1")
    alive.claim()
    with Ownership(tmp_path / "owners", "own-2").inherit("own-1") as is_dead:
        assert not is_dead
    alive.release()


def test_an_owner_that_is_gone_is_inherited_by_one_at_a_time(tmp_path: Path) -> None:
    with (
        Ownership(tmp_path / "owners", "own-2").inherit("own-1") as first,
        Ownership(tmp_path / "owners", "own-3").inherit("own-1") as second,
    ):
        assert (first, second) == (True, False)


def test_nobody_inherits_from_itself(tmp_path: Path) -> None:
    with Ownership(tmp_path / "owners", "own-1").inherit("own-1") as is_dead:
        assert not is_dead


def test_threads_that_claim_together_all_succeed(tmp_path: Path) -> None:
    for round_number in range(20):
        owner = Ownership(tmp_path / "owners", f"own-{round_number}")
        barrier = threading.Barrier(8)

        def claim(owner: Ownership = owner, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            owner.claim()

        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(claim) for _ in range(8)]:
                future.result()
        with Ownership(tmp_path / "owners", "other").inherit(owner.owner) as is_dead:
            assert not is_dead
        owner.release()


def test_a_released_mark_leaves_no_file(tmp_path: Path) -> None:
    owner = Ownership(tmp_path / "owners", "own-1")
    owner.claim()
    owner.release()
    assert list((tmp_path / "owners").iterdir()) == []
