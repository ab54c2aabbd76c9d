"""The console script: it runs a command and ends with its code, or at once at the first interruption (Ctrl-C).

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
from typing import Self

INTERRUPTED = 130
"""The exit code of a command that was interrupted from the keyboard, as in any shell."""
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
        sys.stderr.write("tpstream: interrupted\n")
        code = INTERRUPTED
    sys.exit(code)


class Interruptions:
    """While it is entered, an interruption is raised again and again until one reaches the end."""

    def __init__(self) -> None:
        self.came = False
        """Whether there was an interruption."""
        self.over = False
        """Whether what could be interrupted has ended."""

    def __enter__(self) -> Self:
        # Else interruptions are ignored, as in a job in the background, or someone else deals with them.
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self._handles = usual and threading.current_thread() is threading.main_thread()
        if self._handles:
            self._reports, sys.unraisablehook = sys.unraisablehook, self._report
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True
        if self._handles:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = self._reports

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        self.came = True
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
            signal.pthread_kill(main_thread, signal.SIGINT)  # which also ends a wait


class Interruption(KeyboardInterrupt):
    """An interruption, which tells of its deletion."""

    def __init__(self, sender: Interruptions) -> None:
        super().__init__()
        self._sender = sender

    def __del__(self) -> None:
        self._sender.send_again()
