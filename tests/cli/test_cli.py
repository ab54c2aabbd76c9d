"""The command line: what it prints, where, and with which exit code."""

import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command import Command, CommandResult, tpstream
from studies import PAPER, TOML, read_lines, small

from tpstream import Scenario, compare
from tpstream.cli import describe, study
from tpstream.cli.app import expand
from tpstream.cli.output import show_progress
from tpstream.experiment import compare as compare_module
from tpstream.model.errors import StudyError
from tpstream.model.notes import VERBOSE, own_version
from tpstream.policies import POLICIES
from tpstream.rewards import REWARDS
from tpstream.scenario.files import shipped

__all__ = ["tpstream"]
MODULES = (study, describe)
"""The modules that have commands; importing them adds the commands."""
MAIN = "from tpstream.cli.app import main; main()"


def test_version(tpstream: Command) -> None:
    """--version prints name and version."""
    assert tpstream("--version") == CommandResult(0, f"tpstream {own_version()}\n", "")


def test_help(tpstream: Command) -> None:
    """--help, -h and nothing at all show every command."""
    shown = tpstream("--help")
    assert shown.code == 0
    for command in ("run", "compare", "validate", "list", "schema"):
        assert re.search(rf"^\W*{command} ", shown.out, re.MULTILINE)
    assert tpstream("-h") == shown
    assert tpstream().out.split() == shown.out.split()


@pytest.mark.parametrize("words", [("replay",), ("trial",), ("data", "actg175")])
def test_help_fits_the_terminal(tpstream: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    """Text is broken by the width of the terminal and not as in the source: every paragraph ends with a full stop."""
    monkeypatch.setenv("COLUMNS", "500")
    about = tpstream(*words, "--help").out.partition("╭")[0]
    paragraphs = [line.strip() for line in about.splitlines() if line.strip()][1:]
    assert len(paragraphs) == 2
    assert all(text.endswith(".") for text in paragraphs)


@pytest.mark.parametrize("command", ["run", "compare", "validate", "list", "schema"])
def test_help_of_a_command(tpstream: Command, command: str) -> None:
    """Each command explains itself and each of its options, with the default that holds without it."""
    shown = tpstream(command, "--help")
    assert (shown.code, shown.err) == (0, "")
    text = " ".join(shown.out.replace("│", " ").split())
    assert f"Usage: tpstream {command}" in text
    if command in {"run", "compare"}:
        for option in ("--policy", "--runs", "--seed", "--horizon", "--jobs", "--log", "--force", "--json", "--quiet"):
            assert option in text
        for default in ("those of the scenario", "the scenario's", "one for each core"):
            assert f"[default: ({default})]" in text
        assert f"Example: tpstream {command}" in text


def test_run(tpstream: Command) -> None:
    """`run` prints a table with a row for each policy, and one run has no interval."""
    shown = tpstream("run", "small.toml", "--jobs", 1)
    assert (shown.code, shown.err) == (0, "")
    assert "small: regret after 60 rounds (seed 3)" in shown.out
    for policy, regret in compare(small(), runs=1).table()[["policy", "regret"]].itertuples(index=False):
        row = next(line for line in shown.out.splitlines() if f" {policy} " in line)
        assert f"{regret:,.1f}" in row
        assert "needs 2 runs" in row


def test_run_as_json(tpstream: Command) -> None:
    """--json prints the numbers of the table, the seed, the rounds and the logs, and nothing else."""
    words = ("-p", "uniform", "-p", "tp-ucb-fr:groups=2", "-n", 2, "-s", 5, "-t", 40, "-j", 1, "--log", "logs")
    shown = tpstream("run", "small.toml", *words, "--json")
    assert (shown.code, shown.err) == (0, "")
    found = json.loads(shown.out)
    expected = compare(small(horizon=40), ["uniform", "tp-ucb-fr:groups=2"], runs=2, seed=5).table()
    columns = ["policy", "runs", "regret", "low", "high", "best_arm_share"]
    assert [{key: row[key] for key in columns} for row in found["policies"]] == expected[columns].to_dict("records")
    assert (found["scenario"], found["seed"], found["rounds"], found["figure"]) == ("small", 5, 40, None)
    logs = [Path(log) for of_policy in found["logs"].values() for log in of_policy]
    assert [read_lines(log)[0]["run"] for log in logs] == [0, 1, 0, 1]


def test_json_of_one_run_has_no_interval(tpstream: Command) -> None:
    """JSON knows no NaN: what is not known is null."""
    row = json.loads(tpstream("run", "small.toml", "-p", "uniform", "--json").out)["policies"][0]
    assert (row["low"], row["high"]) == (None, None)


def test_the_same_seed_prints_the_same(tpstream: Command) -> None:
    """Two calls print the same but for the seconds."""

    def regrets() -> list[float]:
        found = json.loads(tpstream("run", "small.toml", "-j", 1, "--json").out)
        return [row["regret"] for row in found["policies"]]

    assert regrets() == regrets()


def test_run_tells_where_the_logs_are(tpstream: Command) -> None:
    """The place, number and size of the logs are told; --quiet leaves that out."""
    words = ("run", "small.toml", "-p", "uniform", "--log", "logs/mine", "--force")
    told, quiet = tpstream(*words), tpstream(*words, "--quiet")
    assert re.search(r"^logs: +logs/mine \(1 files?, 0\.\d MB\)$", told.out, re.MULTILINE)
    assert quiet.out.rstrip().endswith("┘")
    assert quiet.err == ""


def test_compare(tpstream: Command) -> None:
    """`compare` prints a table with intervals, writes the figure, and says where it is."""
    shown = tpstream("compare", "small.toml", "-p", "uniform", "-p", "ucb1", "-n", 2, "-j", 1, "-f", "a/b.svg")
    assert (shown.code, shown.err) == (0, "")
    assert re.search(r"uniform .* \d[\d,.]* to \d", shown.out)
    assert "figure: a/b.svg" in shown.out
    assert Path("a/b.svg").read_bytes().startswith(b"<?xml")


def test_nothing_is_written_that_was_not_asked_for(tpstream: Command) -> None:
    """Without --figure, --out and --log, neither compare nor sweep writes a file; --figure alone writes the figure."""
    words = ("small.toml", "-p", "uniform", "-n", 2, "-j", 1, "--json")
    before = set(Path().rglob("*"))
    found = json.loads(tpstream("compare", *words).out)
    swept = json.loads(tpstream("sweep", *words, "--set", "span=6,12").out)
    assert (found["figure"], swept["figure"], set(Path().rglob("*"))) == (None, None, before)
    tpstream("compare", *words, "--log-x", "--figure", "regret.png")
    assert {path.name for path in set(Path().rglob("*")) - before} == {"regret.png"}


def test_validate(tpstream: Command) -> None:
    """`validate` says what a scenario describes: arms with means and maxima, rounds, span, policies."""
    shown = tpstream("validate", "small.toml")
    assert shown.code == 0
    assert "small: valid. 3 arms, 60 rounds." in shown.out
    assert re.search(r"middle\W+10\W+20\b", shown.out)
    assert "policies: " + ", ".join(PAPER) in shown.out


def test_validate_as_json(tpstream: Command) -> None:
    """--json prints the scenario with all defaults."""
    assert json.loads(tpstream("validate", "small.toml", "--json").out) == small().resolved()


@pytest.mark.parametrize(
    ("what", "names"), [("policies", POLICIES.names()), ("rewards", REWARDS.names()), ("scenarios", list(shipped()))]
)
def test_list(tpstream: Command, what: str, names: list[str]) -> None:
    """Everything that can be used by name is listed, with a line about it."""
    shown = tpstream("list", what)
    rows = dict(re.findall(r"^│ ([\w.-]+) +│ (\w.*?) *│", shown.out, re.MULTILINE))
    assert list(rows) == names


def test_parameters_are_listed(tpstream: Command) -> None:
    """The list of policies tells their parameters and defaults, written as in a scenario file."""
    text = tpstream("list", "policies").out
    assert 'ties = "random"' in text
    assert "(optional)" in text


def test_schema(tpstream: Command) -> None:
    """`schema` prints a JSON Schema that knows the keys of a scenario and refuses others."""
    found: dict[str, Any] = json.loads(tpstream("schema").out)
    assert found["$schema"].startswith("https://json-schema.org/")
    assert {"name", "horizon", "span", "rewards", "arms", "policies"} <= set(found["properties"])
    assert found["additionalProperties"] is False


def test_schema_fits_the_shipped_scenarios(tpstream: Command) -> None:
    """Every scenario that ships is valid by the schema, and one with a misspelt key is not."""
    validator = jsonschema.Draft202012Validator(json.loads(tpstream("schema").out))
    for name in shipped():
        validator.validate(json.loads(tpstream("validate", name, "--json").out))
    assert not validator.is_valid(small().resolved() | {"horizn": 1})


BAD = [
    (("frobnicate",), "no such command 'frobnicate'"),
    (("run",), "missing argument 'SCENARIO'; see `tpstream run --help`"),
    (("run", "nowhere.toml"), "nowhere.toml: no such file"),
    (("run", "small.toml", "--log-detail", "pulls"), "--log-detail pulls is about logs; name a folder for them"),
    (("compare", "small.toml", "--log-format", "arrow"), "--log-format arrow is about logs; name a folder for them"),
    (("run", "e-comerce"), "did you mean 'e-commerce'?"),
    (("run", "."), ".: is a folder"),
    (("validate", "misspelt.toml"), "misspelt.toml: horizn: unknown key (did you mean 'horizon'?)"),
    (("validate", "broken.toml"), "broken.toml: line 2"),
    (("run", "small.toml", "-p", "tp-ucb-rf"), "unknown policy 'tp-ucb-rf' (did you mean 'tp-ucb-fr'?)"),
    (("run", "small.toml", "-p", "tp-ucb-fr:group=2"), "group: unknown key (did you mean 'groups'?)"),
    (("run", "small.toml", "-p", "tp-ucb-fr:groups=4"), "groups = 4 does not divide the span 6; use one of 1, 2, 3, 6"),
    (("run", "small.toml", "-p", "tp-ucb-fr:ties=coin"), "ties: must be 'random' or 'first', got 'coin'"),
    (("run", "small.toml", "-p", "tp-ucb-fr:ties"), "'ties' is no parameter"),
    (("run", "small.toml", "-p", "ucb1", "-p", "ucb1"), "'ucb1' is asked for twice"),
    (("run", "small.toml", "-t", "-5"), "'--horizon' / '-t': must be at least 1, got -5"),
    (("run", "small.toml", "-t", "2"), "horizon: must be at least the number of arms, 3, got 2"),
    (("run", "small.toml", "--runs", "0"), "'--runs' / '-n': must be at least 1, got 0"),
    (("run", "small.toml", "--runs", "many"), "'--runs' / '-n'"),
    (("run", "small.toml", "--jobs", "0"), "must be at least 1, got 0"),
    (("run", "small.toml", "--seed", "-1"), "must be at least 0, got -1"),
    (("run", "small.toml", "--frobnicate"), "no such option: --frobnicate"),
    (("run", "small.toml", "more"), "unexpected extra argument"),
    (("run", "small.toml", "--log", "small.toml"), "small.toml: is a file; give a folder"),
    (("run", "small.toml", "-j", "1", "--log", "small.toml/below"), "cannot create the log"),
    (("run", "small.toml", "-p", "uniform", "--log", "full"), "there is a log already, uniform.run-000.jsonl"),
    (("compare", "small.toml", "-f", "regret.doc"), "regret.doc: a figure ends in .png, .svg, .pdf, got '.doc'"),
    (("compare", "small.toml", "-f", "small.toml/regret.png"), "small.toml: cannot make this folder"),
    (("list",), "missing argument"),
    (("list", "everything"), "'everything' is not one of"),
    (("list", "polices"), "(did you mean 'policies'?); see `tpstream list --help`"),
    (("new", "polcy", "mine"), "(did you mean 'policy'?)"),
    (("run", "small.toml", "-e", "compild"), "(did you mean 'compiled'?)"),
    (("run", "small.toml", "--log-detail", "indexes", "--log", "logs"), "(did you mean 'indices'?)"),
    (("comapre", "small.toml"), "did you mean 'compare'"),
    (("compare", "small.toml", "--polcy", "ucb1"), "--policy"),
    (
        ("compare", "small.toml", "--set", "sapn=12"),
        "tpstream: sapn: a scenario has no key 'sapn' (did you mean 'span'?)",
    ),
    (("trial", "small.toml", "--set", "span.x=12"), "tpstream: span.x: span is 6 and has no keys"),
    (("validate", "small.toml", "--set", "a b=12"), "tpstream: a b: is no path"),
    (
        ("compare", "small.toml", "--set", "span=0"),
        "tpstream: with span=0: small.toml: span: must be at least 1, got 0",
    ),
    (("compare", "small.toml", "--set", "span=6,12"), "2 values are a sweep; give one, or use `tpstream sweep`"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_a_mistake_is_one_line(tpstream: Command, words: tuple[str, ...], message: str) -> None:
    """Whatever is wrong: exit code 2, one line on standard error that says what, and nothing on standard output."""
    Path("misspelt.toml").write_text(TOML.replace("horizon", "horizn"))
    Path("broken.toml").write_text('name = "broken"\nhorizon = = 3\n')
    Path("full").mkdir()
    Path("full/uniform.run-000.jsonl").touch()
    shown = tpstream(*words)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith("tpstream: ")
    assert shown.err.count("\n") == 1
    assert message in shown.err


def test_mistakes_leave_no_files(tpstream: Command) -> None:
    """A command line that is wrong makes neither folders nor files."""
    tpstream("run", "small.toml", "-p", "no-such-policy", "--log", "logs")
    tpstream("compare", "small.toml", "-f", "figures/regret.doc")
    assert [path.name for path in Path().iterdir()] == ["small.toml"]


def test_an_error_of_the_system_is_one_line(tpstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw between us and the disk is a line, too."""

    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "secret")

    monkeypatch.setattr(compare_module, "compare", fail)
    assert tpstream("run", "small.toml") == CommandResult(2, "", "tpstream: secret: Permission denied\n")


def test_an_interruption(tpstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with exit code 130 and no traceback."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compare_module, "compare", interrupt)
    assert tpstream("run", "small.toml") == CommandResult(130, "", "tpstream: interrupted\n")


def test_verbose_tells_the_story(tpstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """--verbose tells on standard error when runs start and end, and leaves standard output alone."""
    monkeypatch.setenv(VERBOSE, "")
    shown = tpstream("--verbose", "run", "small.toml", "-p", "uniform", "--json")
    assert json.loads(shown.out)["scenario"] == "small"
    told = re.findall(r'event="(.*?)"', shown.err)  # not "compiling", which is a single word and told once
    assert told == ["run started", "run ended"]


def test_progress_needs_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar with the rate is drawn on standard error of a terminal, and nothing where nobody looks."""
    with show_progress("work", show=True) as progress:
        assert progress is None
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress("work", show=True) as progress:
        assert progress is not None
        progress.expect(10)
        progress(5)
        progress(5)
    printed = capsys.readouterr()
    assert (printed.out, "work" in printed.err, "100%" in printed.err) == ("", True, True)


def test_an_error_while_progress_is_shown_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar swallows no error."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with pytest.raises(StudyError, match="lost"), show_progress("work", show=True):
        raise StudyError("lost")


def test_as_users_call_it(tmp_path: Path) -> None:
    """In a process of its own: the result on standard output, nothing on standard error, exit code 0."""
    (tmp_path / "small.toml").write_text(TOML)
    words = ["run", "small.toml", "-p", "uniform", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *words], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert (json.loads(done.stdout)["rounds"], done.stderr) == (60, "")


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    """`tpstream schema | head -1` ends without a traceback."""
    done = subprocess.run(  # noqa: S602 (the pipe is the point)
        f"{sys.executable} -c '{MAIN}' schema | head -1",
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
        shell=True,
    )
    assert (done.stdout, "Traceback" in done.stderr) == ("{\n", False)


def test_chosen_rounds_are_shown(tpstream: Command) -> None:
    """`--rounds` gives a table of the regrets there, and in JSON the curves; a folder gets the results as JSON, too."""
    words = ("compare", "small.toml", "-n", "2", "-j", "1", "-p", "uniform", "--rounds", "20,40", "--out", "out")
    assert all(f"round {round}" in tpstream(*words).out for round in (20, 40, 60))
    curves = json.loads(tpstream(*words, "--json").out)["curves"]
    assert [row["round"] for row in curves] == [20, 40, 60]
    assert len(json.loads(Path("out/results.json").read_text())) == 2 * 3


OWN_PROCESS = """
from tpstream.model.settings import Settings

class Own:
    settings = Settings

    def build(self, settings, context):
        return self

    def run(self, context):
        for time, part in context.arrivals:
            yield context.wait_until(time)
            context.deliver(part)

PLUGINS = {"delays": {"own": Own()}}
"""
"""A process of a plug-in, which only SimPy serves."""


@pytest.mark.parametrize(("more", "lines"), [((), 1), (("--quiet",), 0), (("--json",), 0)])
def test_a_fall_to_simpy_is_told_without_a_terminal(tmp_path: Path, more: tuple[str, ...], lines: int) -> None:
    """Unless only the result was asked for."""
    (tmp_path / "slow.toml").write_text(TOML + "\n[[delays]]\nkind = 'own'\n")
    (tmp_path / "own.py").write_text(OWN_PROCESS)
    words = [sys.executable, "-c", MAIN, "run", "slow.toml", "-p", "uniform", "--plugin", "own.py", *more]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, check=True, text=True, env=os.environ | {"TPSTREAM_NOTES": ""}
    )
    assert done.stderr.count("the SimPy engine serves") == lines


def test_a_setting_repairs_the_file(tpstream: Command) -> None:
    """Values of --set are put into the file before it is judged, so that they can repair every kind of fault."""
    for old, new, setting in (
        ("span = 6", "span = 0", "span=6"),
        ("span = 6", 'span = 6\npolicies = [{ kind = "ucb1", ties = "coin" }]', "policies.ucb1.ties=first"),
        ("seed = 3", "seed = -1", "seed=1"),
        ("groups = 3", "groups = 4", "rewards.groups=2"),
        ('"smooth-beta"', '"smoth-beta"', "rewards.kind=smooth-beta"),
    ):
        Path("broken.toml").write_text(TOML.replace(old, new))
        assert tpstream("validate", "broken.toml").code == 2
        assert tpstream("validate", "broken.toml", "--set", setting).code == 0


def test_settings_are_the_same_for_all_commands(tpstream: Command) -> None:
    """`validate --set` shows the changed scenario, and `compare --set` runs it as `run --set` does."""
    changes = ("--set", "span=12", "--set", "policies.tp-ucb-fr.groups=4", "-p", "tp-ucb-fr")
    shown = json.loads(tpstream("validate", "small.toml", *changes, "--json").out)
    assert (shown["span"], shown["policies"][0]["groups"]) == (12, 4)
    run, compare = (
        json.loads(tpstream(word, "small.toml", *changes, "-n", 2, "-j", 1, "--json").out)
        for word in ("run", "compare")
    )
    assert run["curves"] == compare["curves"]


def test_a_policy_of_a_module_cannot_be_set(tpstream: Command) -> None:
    """A scenario cannot list it; the error says where its parameters, and those of others, go instead."""
    for setting in ("policies.moody.mood=1", "policies.tp-ucb-fr.groups=2"):
        words = ("run", "small.toml", "-p", "moody:POLICY", "-p", "tp-ucb-fr", "--set", setting)
        refused = tpstream(*words)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert refused.err == (
        "tpstream: --set policies.tp-ucb-fr.groups=2: a scenario cannot list 'moody', which is asked for as "
        "module:Name; write parameters behind the policies instead, as in -p module:Name:key=value\n"
    )
    assert tpstream("run", "small.toml", "-p", "ucb1", "-p", "tp-ucb-fr:groups=2").code == 0


def test_arms_without_names_are_set_by_their_usual_names(tpstream: Command) -> None:
    """An arm that the file gives no name is arm-1, arm-2, ..., for --set as for results."""
    Path("unnamed.toml").write_text(re.sub(r"name = \"(low|middle|high)\"\n?,? ?", "", TOML))
    shown = json.loads(tpstream("validate", "unnamed.toml", "--set", "arms.arm-2.maximum=99.0", "--json").out)
    assert [arm["name"] for arm in shown["arms"]] == ["arm-1", "arm-2", "arm-3"]
    assert shown["arms"][1]["maximum"] == 99.0


@pytest.mark.parametrize(
    ("words", "checks"),
    [
        (("run", "small.toml", "-t", 40), 1),
        (("run", "small.toml", "--set", "span=12", "--set", "policies.tp-ucb-fr.groups=4"), 1),
        (("compare", "small.toml", "-t", 40, "-n", 2, "-j", 1), 1),
    ],
)
def test_a_scenario_is_built_once(
    tpstream: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], checks: int
) -> None:
    """A scenario whose horizon or keys are changed is checked, and the files that it names are read, once."""
    count, check = [], Scenario.check
    monkeypatch.setattr(Scenario, "check", lambda scenario: (count.append(scenario.span), check(scenario)))
    assert tpstream(*words).code == 0
    assert len(count) == checks


def test_groups_of_options_become_options() -> None:
    """A parameter whose type is a dataclass is replaced by its fields, with their types and defaults."""

    @dataclass(frozen=True)
    class Group:
        needed: int
        spare: str = "none"

    found = []

    def command(*, group: Group, alone: bool = False) -> None:
        found.append((group, alone))

    call = expand(command)
    shown = inspect.signature(call).parameters
    assert [(one.name, one.default) for one in shown.values()] == [
        ("needed", inspect.Parameter.empty),
        ("spare", "none"),
        ("alone", False),
    ]
    call(needed=3, spare="some", alone=True)
    assert found == [(Group(3, "some"), True)]
