"""The console script: it runs a command and ends with its code, or at once at the first interruption; what it prints.

Interruptions are Ctrl-C, a request to end (SIGTERM) and the end of the terminal (SIGHUP).

An interruption is an exception that is raised wherever the program happens to be. There it may get lost: no exception
can leave a function that compiled code calls, as LLVM does while Numba loads a loop, and libraries drop exceptions or
turn them into others. An exception that got lost is not referred to any more, and Python deletes it; one that has
reached the end of the program, or is on its way, is there. So whenever an interruption is deleted before the command
has ended, another one is sent.
"""

import _thread
import signal
import sys
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING, Self

from tpstream.model.names import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

INTERRUPTED = 130
"""The exit code of a command that was interrupted from the keyboard, as in any shell."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What interrupts a command; the exit code is 128 more than the number of the signal, as in any shell."""
LOSES = "_numba_unpickle"
"""A function of Numba that compiled code calls: what is raised in it is lost, and nothing is deleted."""
PAUSE = 0.02
"""Seconds until another interruption is sent: at once, it would come in the same place and get lost, too."""


def main() -> None:
    """Run the command that the words of the command line name, and leave with its exit code."""
    code = INTERRUPTED
    with Interruptions() as interruptions:
        try:
            from tpstream.cli.app import run_command

            code = run_command()
        except KeyboardInterrupt:
            interruptions.over = True
        except Exception:
            if not interruptions.came:
                raise  # else it is what became of an interruption on its way
    if code == INTERRUPTED or (code and interruptions.came):
        number = interruptions.came or signal.SIGINT
        by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        complain(f"interrupted{by}")
        code = 128 + number
    sys.exit(code)


class Interruptions:
    """While it is entered, an interruption is raised again and again until one reaches the end."""

    def __init__(self) -> None:
        self.came = 0
        """The signal of the last interruption; 0 if there was none."""
        self.over = False
        """Whether what could be interrupted has ended."""

    def __enter__(self) -> Self:
        # Others are ignored, as in a job in the background, or someone else deals with them.
        usual = (signal.default_int_handler, signal.SIG_DFL)
        here = threading.current_thread() is threading.main_thread()
        self._before = {one: signal.getsignal(one) for one in SIGNALS if here and signal.getsignal(one) in usual}
        if self._before:
            self._reports, sys.unraisablehook = sys.unraisablehook, self._report
        for one in self._before:
            signal.signal(one, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True
        for one, handler in self._before.items():
            signal.signal(one, handler)
        if self._before:
            sys.unraisablehook = self._reports

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.came = number
        while frame is not None:
            if frame.f_code.co_name == LOSES:
                self.send_again()
                return
            frame = frame.f_back
        raise Interruption(self)

    def _report(self, lost: "sys.UnraisableHookArgs") -> None:
        """Report what cannot be raised, but for an interruption."""
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            self._reports(lost)

    def send_again(self) -> None:
        """Send an interruption soon, unless the end has come by then."""
        if not self.over:
            _thread.start_new_thread(self._send, ())

    def _send(self) -> None:
        time.sleep(PAUSE)
        main_thread = threading.main_thread().ident
        if not self.over and main_thread is not None:
            signal.pthread_kill(main_thread, self.came)  # which also ends a wait


class Interruption(KeyboardInterrupt):
    """An interruption, which tells of its deletion; libraries make copies of it with the same arguments."""

    def __init__(self, sender: Interruptions | None = None) -> None:
        super().__init__(*([] if sender is None else [sender]))
        self._sender = sender

    def __del__(self) -> None:
        sender = getattr(self, "_sender", None)  # a copy may be made without calling __init__
        if sender is not None:
            sender.send_again()


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line, on standard error with `err`; without characters that a terminal would obey instead of showing."""
    import typer

    typer.echo(visible(text), err=err)


def complain(text: str) -> None:
    """Print a line on standard error that begins with the name of the program."""
    sys.stderr.write(f"tpstream: {visible(text)}\n")
    sys.stderr.flush()


def open_console(width: int | None = None) -> "Console":
    """A console of Rich on standard output that lets a closed pipe be told like any other error."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Terminal(width=width)


def rich_text(text: str) -> "Text":
    """A text for Rich that it shows as it is: brackets are no markup, and escape bytes are left out."""
    from rich.text import Text

    return Text(visible(text))
