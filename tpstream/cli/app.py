"""The Typer application: how commands are added to it, and how errors end the program."""

import faulthandler
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer
from typer.core import TyperGroup

from tpstream.cli import start
from tpstream.cli.options import flag
from tpstream.cli.start import complain, say
from tpstream.model.errors import TpstreamError, did_you_mean
from tpstream.model.notes import VERBOSE, own_version

COMMANDS = (
    "study",
    "sweep",
    "league",
    "view",
    "logs",
    "show",
    "describe",
    "own_data",
    "twin",
    "evaluate",
    "serve",
    "data",
    "trial",
    "calibrate",
    "inference",
    "paper",
)
"""The modules with the commands; within a task, the help shows their commands in this order."""
Task = Literal["Simulate", "Look at it", "Your own data", "Decide for real", "Trials", "Extend", "Reproduce"]
"""What users want to do: the panels of the help, and the groups of the table of commands in the README, in order."""
WORDS = {
    ": Value error, ": ": ",
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "must be a number",
}
"""Plainer words for those of Typer."""
LONGEST = 5_000
"""Letters of a message; what is longer, because it repeats a giant name or value, is cut in its middle."""
SMALLER = "ask for fewer runs, a smaller horizon or span, fewer arms, or less of a log"
main = start.main
"""The console script."""
UsageError: Any = typer.BadParameter.__base__
"""The exception for a command line that is wrong; Typer has no public name for it."""


class TaskGroup(TyperGroup):
    """The commands by task, in the order of the tasks, whichever module adds them first."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands in the order of the help."""
        tasks: tuple[str, ...] = get_args(Task)
        commands: Mapping[str, Any] = self.commands
        return sorted(super().list_commands(ctx), key=lambda name: tasks.index(commands[name].rich_help_panel))


app = typer.Typer(
    name="tpstream",
    cls=TaskGroup,
    help="Simulate, record and compare decisions whose feedback arrives in parts, over time.",
    epilog="Start with: tpstream run setting-1 --horizon 2000",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Command = Callable[..., None]


def command(task: Task, *, example: str = "", more: str = "", name: str | None = None) -> Callable[[Command], Command]:
    """Add a function as a command, in the panel of its task in the help, and with an example below its own help.

    A parameter whose type is a dataclass, such as those of options.py, stands for the fields of the dataclass.
    """
    below = "\n\n".join(text for text in (example and f"Example: tpstream {example}", more) if text)

    def add(function: Command) -> Command:
        app.command(name, help=help_text(function), rich_help_panel=task, epilog=below)(expand(function))
        return function

    return add


def help_text(function: Command) -> str:
    """The docstring, each paragraph as one line: Typer would keep the line breaks of the source."""
    return "\n\n".join(" ".join(text.split()) for text in (inspect.getdoc(function) or "").split("\n\n"))


def expand(function: Command) -> Command:
    """The function with the fields of its dataclasses as parameters, in a signature for Typer to read."""
    signature = inspect.signature(function)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        group = parameter.annotation
        if not is_dataclass(group):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name], hints = group, get_type_hints(group, include_extras=True)
        for field in fields(group):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(parameter.replace(name=field.name, default=default, annotation=hints[field.name]))

    @wraps(function)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        try:
            function(**values)
            sys.stdout.flush()  # here, so that a closed pipe is noticed
        except BrokenPipeError:  # which Typer would pass over
            raise typer.Exit(_fail(_closed())) from None

    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def run_command() -> int:
    """Do what the command line says; an error is one line on standard error and exit code 2, without a traceback."""
    if sys.__stderr__ is not None and not faulthandler.is_enabled():
        faulthandler.enable(sys.__stderr__)  # a crash of compiled code is told of, with the place in Python's code
    for name in COMMANDS:
        import_module(f"tpstream.cli.{name}")  # adds its commands to the application
    try:
        return app(prog_name="tpstream", standalone_mode=False) or 0
    except (TpstreamError, UsageError, OSError, MemoryError, RecursionError) as error:
        return _fail(_describe(error))
    except SystemExit:  # how Typer leaves if nobody reads the help that it prints
        return _fail(_closed())


def _describe(error: Any) -> str:
    """What went wrong, in one line."""
    match error:
        case OSError():
            return f"{error.filename}: {error.strerror}" if error.filename else str(error)
        case MemoryError():
            return f"the memory does not suffice{f' ({error})' if str(error) else ''}; {SMALLER}"
        case RecursionError():
            return "something is nested too deep to be read; write it flatter"
    return _usage_message(error) if isinstance(error, UsageError) else str(error)


def _fail(message: str) -> int:
    complain(message if len(message) <= LONGEST else f"{message[: LONGEST // 2]} ... {message[-LONGEST // 2 :]}")
    return 2


def _closed() -> str:
    """Say that whoever read the output stopped; what is left of it goes nowhere, also when Python ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return "the output was closed before its end, as by `| head`; what was asked for is done but not shown"


def _usage_message(error: Any) -> str:
    """Typer's message as one line, with the command that shows the right use."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    for words, plainer in WORDS.items():
        message = message.replace(words, plainer)
    message = re.sub(r"\. Did you mean (.*)\?$", r" (did you mean \1?)", message)
    command = error.ctx.command_path if error.ctx else "tpstream"
    return f"{message[:1].lower()}{message[1:]}{_nearest(message)}; see `{command} --help`"


def _nearest(message: str) -> str:
    """The nearest of the words that an argument or option may be, as a question; the message lists them."""
    found = re.search(r"'([^']*)' is not one of (.*)", message)
    return did_you_mean(found[1], re.findall(r"'([^']*)'", found[2])) if found else ""


@app.callback()
def _before(
    context: typer.Context,
    *,
    version: Annotated[bool, flag("--version", "Print the version and leave.")] = False,
    verbose: Annotated[bool, flag("--verbose -v", "Say on standard error when runs start and end.")] = False,
) -> None:
    if version:
        say(f"tpstream {own_version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    if verbose:
        os.environ[VERBOSE] = "1"
