"""What a decider answered is on disk: after kills, torn lines, full disks, and with a second writer."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import killed_deciders
import numpy as np
import pytest
from deciders import SHOP, WORLD, shop

from tpstream import Decider, DeciderError, check_log, read_log, replay, simulate
from tpstream.model.errors import LogError, PolicyError
from tpstream.serve.new_log import NEEDS_NOTHING
from tpstream.serve.requests import Decide, Lost
from tpstream.serve.snapshot import snapshot_path


def kill_often(folder: Path, kills: int) -> str:
    """What the program that kills prints."""
    words = [sys.executable, killed_deciders.__file__, str(folder), str(kills)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_by_kills(tmp_path: Path) -> None:
    """After five kills under load every acknowledged event is in the log, once, and decisions are as without kills."""
    assert kill_often(tmp_path, 5).endswith("nothing lost or doubled\n")


@pytest.mark.verify
def test_nothing_acknowledged_is_lost_by_many_kills(tmp_path: Path) -> None:
    """The same with 100 kills."""
    assert kill_often(tmp_path, 100).startswith("100 kills")


def busy(decider: Decider, first: int, last: int) -> list[int]:
    """Decisions from one time to another, each of which pays; the arms."""
    arms = []
    for number in range(first, last):
        decision = decider.decide(f"{number}", at=float(number))
        decider.deliver(decision.token, amount=1.0, key=f"p{number}", at=number + 0.5)
        arms.append(decision.arm)
    return arms


@pytest.mark.usefixtures("no_flush")
def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    """Wherever the last lines are torn, the log goes on after the last whole one, and asking again ends as before."""
    with shop(tmp_path) as decider:
        arms = busy(decider, 0, 20)
    whole = decider.path.read_bytes()
    for cut in range(1, 300, 37):
        decider.path.write_bytes(whole[:-cut])
        with Decider.open(decider.path, snapshot_every=None) as again:
            torn = whole[:-cut].rfind(b"\n") + 1 < len(whole) - cut
            assert len(again.recovery.notes) == torn
            assert busy(again, 17, 20) == arms[17:]
        assert len(decider.path.read_bytes()) == len(whole)
        assert replay(decider.path).equal


def test_a_header_that_was_torn_is_no_log(tmp_path: Path) -> None:
    """A log whose first line was never whole is begun anew."""
    (tmp_path / "shop.jsonl").write_text('{"schema":1,"scen')
    with shop(tmp_path) as decider:
        assert decider.decide("a", at=0.0).time == 0.0


@pytest.mark.parametrize("text", ['{"name":"a"}\n{"name":"b"}', "one line", "{", '{"schema":1,"scenario":{}}\nx'])
def test_a_file_of_somebody_else_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    """What is no decider's log is refused, and nothing of it is cut off; so is the log of a run that is written."""
    place = tmp_path / "shop.jsonl"
    if text == "{":
        simulate(WORLD, "uniform", log=place)
        text = place.read_text()[:-150]
    place.write_text(text)
    with pytest.raises(LogError):
        shop(tmp_path)
    assert place.read_text() == text


def test_what_cannot_be_opened_leaves_no_file(tmp_path: Path) -> None:
    """Nothing is made for a log that lacks a name, or whose policy cannot be."""
    with pytest.raises(DeciderError, match="name its policy, arms, span"):
        Decider.open(tmp_path / "new" / "shop")
    with pytest.raises(PolicyError, match="needs to know more"):
        shop(tmp_path / "new", policy="delayed-ucb1")
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("no_flush")
@pytest.mark.parametrize("snapshot_every", [None, 10])
def test_a_damaged_line_is_named(tmp_path: Path, snapshot_every: int | None) -> None:
    """By its number in the file, wherever reading begins."""
    with shop(tmp_path, snapshot_every=snapshot_every) as decider:
        busy(decider, 0, 10)
    lines = decider.path.read_bytes().count(b"\n")
    with decider.path.open("ab") as file:
        file.write(bytes(100) + b"\n")
    with pytest.raises(LogError, match=f"line {lines + 1} is broken"):
        Decider.open(decider.path)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    """One decider writes a log at a time, in this process and in others."""
    with shop(tmp_path), pytest.raises(DeciderError, match="another decider"):
        shop(tmp_path)
    shop(tmp_path).close()


def test_a_batch_is_flushed_once_before_it_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each batch there is one flush, after which its events are in the file."""
    flushed = []
    monkeypatch.setattr(os, "fdatasync", lambda _: flushed.append((tmp_path / "shop.jsonl").read_bytes().count(b"\n")))
    with shop(tmp_path) as decider:
        decider.handle([Decide(key=f"{number}", at=1.0) for number in range(10)])
        decider.handle([Decide(key="3")])
    assert flushed == [1, 11]


@pytest.mark.usefixtures("no_flush")
@pytest.mark.parametrize("snapshot_every", [None, 7])
def test_a_write_that_fails_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot_every: Any) -> None:
    """Nothing of the batch is decided or credited, and with room again the decisions are as if nothing had been."""
    with shop(tmp_path / "whole", random_share=0.3) as decider:
        expected = busy(decider, 0, 30)
    with shop(tmp_path, random_share=0.3, snapshot_every=snapshot_every) as decider:
        arms = busy(decider, 0, 10)
        token = decider.decide("9").token
        size, write = decider.path.stat().st_size, decider._journal._file.write
        full = [True]

        def limited(data: Any) -> int:
            if full[0] and len(data) > 50:
                return write(data[:50])
            if full[0]:
                raise OSError(28, "No space left on device")
            return write(data)

        monkeypatch.setattr(decider._journal, "_file", Limited(decider._journal._file, limited))
        for _ in range(3):
            with pytest.raises(DeciderError, match="No space left") as caught:
                decider.handle([Decide(key="10", at=10.0), Lost(token=token, part=2)])
            assert caught.value.reason == "full"
            assert decider.path.stat().st_size == size
        full[0] = False
        arms += busy(decider, 10, 30)
        assert arms == expected
        assert replay(decider.path).equal


@pytest.mark.parametrize("snapshot_every", [None, 1_000])
@pytest.mark.parametrize("moment", ["before the flush", "after the flush"])
def test_an_interrupt_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, snapshot_every: Any
) -> None:
    """Ctrl-C while a decision is flushed leaves nothing of it, and the log goes on, is opened again and replays."""
    with shop(tmp_path / "whole") as decider:
        expected = busy(decider, 0, 12)
    flush = os.fdatasync

    def interrupted(file: int) -> None:
        if moment == "after the flush":
            flush(file)
        raise KeyboardInterrupt

    decider = shop(tmp_path, snapshot_every=snapshot_every)
    arms = busy(decider, 0, 5)
    size = decider.path.stat().st_size
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            decider.decide("a key that is longer than the next ones", at=5.0)
    assert (decider.path.stat().st_size, decider.state()["decisions"]) == (size, 5)
    if snapshot_every is None:
        arms += busy(decider, 5, 8)
    decider.close()
    with Decider.open(decider.path) as again:
        assert again.recovery.notes == ()
        arms += busy(again, len(arms), 12)
    assert arms == expected
    assert replay(decider.path).equal
    assert check_log(decider.path).sound


@pytest.mark.usefixtures("no_flush")
def test_lines_beyond_what_was_flushed_are_not_told_again(tmp_path: Path) -> None:
    """A whole line that could be neither flushed nor cut off is no part of the state that is worked out again."""
    with shop(tmp_path) as decider:
        busy(decider, 0, 5)
        line = decider.path.read_bytes().splitlines(keepends=True)[-1]
        with decider.path.open("ab") as file:
            file.write(line)
        decider._journal.failed = decider._broken = True
        assert busy(decider, 5, 6)
        assert decider.state()["decisions"] == 6
    assert replay(decider.path).equal


@pytest.mark.parametrize(("code", "reason"), [(28, "full"), (5, "disk")])
def test_a_write_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str) -> None:
    """In the system's words; only a disk without room is called full."""
    with shop(tmp_path) as decider:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", Raises(OSError(code, os.strerror(code))))
            with pytest.raises(DeciderError, match=os.strerror(code)) as caught:
                decider.decide("a", at=1.0)
        assert caught.value.reason == reason
        assert ("free space" in str(caught.value)) == (reason == "full")
        assert not decider.decide("a", at=1.0).repeated


class Raises:
    """A function that raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, *_: object) -> None:
        """Raise it."""
        raise self._error


def test_the_names_of_new_folders_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder in which a new name stands is flushed, from the first new folder down to the log's own.

    The last one also when the log is opened again: a kill may have come before it was flushed.
    """
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(Path(f"/proc/self/fd/{file}").readlink()))
    shop(tmp_path / "a" / "b").close()
    shop(tmp_path / "a" / "b").close()
    assert flushed == [tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 128 KB of its own."""
    words = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(tmp_path)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("nobody may mount a disk here")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)  # noqa: S607


def fill(decider: Decider, arms: list[int]) -> None:
    """Decide until that fails."""
    while True:
        arms += busy(decider, len(arms), len(arms) + 1)


@pytest.mark.usefixtures("no_flush")
def test_a_full_disk_loses_nothing(small_disk: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """When the disk is full, requests are refused; with more room it goes on, and decides as on a large one."""
    with shop(tmp_path_factory.mktemp("whole")) as decider:
        expected = busy(decider, 0, 700)
    with shop(small_disk, snapshot_every=100) as decider:
        arms: list[int] = []
        with pytest.raises(DeciderError, match="No space left") as caught:
            fill(decider, arms)
        assert caught.value.reason == "full"
        with pytest.raises(DeciderError, match="No space left"):
            busy(decider, len(arms), len(arms) + 1)
        assert replay(decider.path).equal
        subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)  # noqa: S607
        arms += busy(decider, len(arms), 700)
        assert 100 < len(arms) == len(expected)
        assert arms == expected
        assert replay(decider.path).equal


class Limited:
    """A file that cannot write all."""

    def __init__(self, file: Any, write: Any) -> None:
        self._file, self.write = file, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _changed(snapshot: bytes) -> bytes:
    """A snapshot of which one number is another, in a file that is in order."""
    with np.load(io.BytesIO(snapshot)) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["arms"] = 1 - arrays["arms"]
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.usefixtures("no_flush")
def test_a_snapshot_that_does_not_fit_is_not_used(tmp_path: Path) -> None:
    """One that is damaged, of another log or of a log that was changed is left aside, with a note, and all is told."""
    with shop(tmp_path, snapshot_every=10) as decider:
        busy(decider, 0, 30)
    with shop(tmp_path / "other", snapshot_every=10) as other:
        busy(other, 0, 30)
    own = snapshot_path(decider.path)
    good = own.read_bytes()
    damaged = {
        "damaged": good[: len(good) // 2],
        "damaged ": b"",
        "another log": snapshot_path(other.path).read_bytes(),
        "it has not the SHA-256": _changed(good),
    }
    for reason, data in damaged.items():
        own.write_bytes(data)
        with Decider.open(decider.path, snapshot_every=None) as again:
            assert reason.strip() in again.recovery.notes[0]
            assert again.recovery.rounds == 30
    own.write_bytes(good)
    text = decider.path.read_text()
    decider.path.write_text(text.replace('"key":"p3"', '"key":"p4"', 1))
    with Decider.open(decider.path, snapshot_every=None) as again:
        assert "does not begin" in again.recovery.notes[0]
    decider.path.write_text(text)
    with Decider.open(decider.path, snapshot_every=None) as again:
        assert (again.recovery.notes, again.recovery.from_snapshot) == ((), again.recovery.events)


@pytest.mark.usefixtures("no_flush")
def test_a_log_with_another_decision_is_refused(tmp_path: Path) -> None:
    """A log whose policy would have decided otherwise does not go on; the error names the first such decision."""
    with shop(tmp_path, maxima=10.0, policy="delayed-ucb1") as decider:
        busy(decider, 0, 30)
    lines = decider.path.read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if '"kind":"pull"' in line and '"pull":3,' in line)
    arm = '"arm":0' if '"arm":0' in lines[place] else '"arm":1'
    other = '"arm":1' if arm == '"arm":0' else '"arm":0'
    lines = [line.replace(arm, other) if '"pull":3,' in line else line for line in lines]
    decider.path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DeciderError, match="decision 3 "):
        Decider.open(decider.path)


def test_what_a_policy_needs_to_know_is_said_as_it_is_written(tmp_path: Path) -> None:
    """The error for a policy without maxima and groups has both remedies, and either of them serves."""
    options: dict[str, Any] = {"arms": ["a", "b"], "span": 60, "window": "60d", "seed": 7}
    remedy = r'maxima=\[1.0, 1.0\] .* and groups=1, or policy="group-thompson:groups=1,variance=empirical,prior=none"'
    with pytest.raises(PolicyError, match=remedy):
        Decider.open(tmp_path / "shop", policy="group-thompson", **options)
    with pytest.raises(PolicyError, match=r"write maxima=\[1.0, 1.0\] [^=]*, or policy="):
        Decider.open(tmp_path / "shop", policy="delayed-ucb1", **options)
    with pytest.raises(PolicyError, match="write groups=1, or policy="):
        Decider.open(tmp_path / "shop", policy="group-thompson", maxima=5.0, **options)
    with pytest.raises(PolicyError, match="unknown"):
        Decider.open(tmp_path / "shop", policy="group-thompson:prior=unknown", **options)
    Decider.open(tmp_path / "shop", policy="group-thompson", maxima=[1.0, 1.0], groups=1, **options).close()
    Decider.open(tmp_path / "other", policy=NEEDS_NOTHING, **options).close()


def test_another_opening_is_refused(tmp_path: Path) -> None:
    """What is given must be what the log was opened with."""
    shop(tmp_path).close()
    for options, text in (
        ({"policy": "delayed-ucb1", "maxima": 1.0}, "needs the maximum"),
        ({"policy": "epsilon-greedy"}, "uniform decides"),
        ({"arms": ["old", "newer"]}, "arms is"),
        ({"span": 4}, "span is 3"),
        (SHOP | {"seed": 1}, "seed is 0, got 1"),
        (SHOP | {"random_share": 0.5}, "random_share is 0.0, got 0.5"),
    ):
        with pytest.raises(Exception, match=text):
            Decider.open(tmp_path / "shop", **options)  # type: ignore[arg-type]
    with pytest.raises(DeciderError, match="there is no log yet; name its policy, arms, span"):
        Decider.open(tmp_path / "new")
    (tmp_path / "run.jsonl").write_bytes(b"")
    assert read_log(tmp_path / "shop.jsonl").header.policy == "uniform"
