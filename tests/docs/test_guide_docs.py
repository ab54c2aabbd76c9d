"""The pages on scenario files, policies and traces tell the truth: files are valid, programs print what they say."""

import re
import tomllib
from pathlib import Path

import pytest
from pages import DOCS, blocks, run, tpstream

from tpstream import Scenario, compare
from tpstream.rewards import REWARDS
from tpstream.scenario.trial_tables import LooksTable, RuleTable, TrialTable
from tpstream.scenario.warnings import describe_duration

SCENARIOS, POLICY, TRACES = (
    (DOCS / f"{page}.md").read_text("utf-8") for page in ("scenarios", "write-a-policy", "traces")
)


def test_the_scenario_says_what_it_says() -> None:
    """The file can be loaded, and has the policies that it lists; the lines on late parts fit above its tables."""
    text, patients, late = blocks(SCENARIOS, "toml")
    assert Scenario.parse(tomllib.loads(patients)).means == pytest.approx([0.65, 1.15])
    scenario = Scenario.parse(tomllib.loads(text))
    labels = [choice.label for choice in scenario.choices()]
    assert (scenario.name, labels) == ("two-prices", ["tp-ucb-fr", "tp-ucb-ew", "delayed-ucb1"])
    assert Scenario.parse(tomllib.loads(late + text)).window == 60


@pytest.mark.slow
def test_the_commands_and_the_program_of_scenarios_work(tmp_path: Path) -> None:
    """Beside the file, every command runs, and the program prints the text below it."""
    (tmp_path / "two-prices.toml").write_text(blocks(SCENARIOS, "toml")[0])
    commands = [line for block in blocks(SCENARIOS, "sh") for line in block.splitlines()]
    assert len(commands) == 4
    for command in commands:
        assert "tp-ucb-fr" in tpstream(tmp_path, command)
    assert [run(tmp_path, "-c", blocks(SCENARIOS, "python")[0])] == blocks(SCENARIOS, "text")


def test_the_programs_of_looks(tmp_path: Path) -> None:
    """The programs of the page, one after another, print the texts below them."""
    page = (DOCS / "looks.md").read_text(encoding="utf-8")
    (tmp_path / "responses.toml").write_text(blocks(page, "toml")[0], encoding="utf-8")
    assert run(tmp_path, "-c", "".join(blocks(page, "python"))) == "".join(blocks(page, "text"))


def test_the_table_of_keys_is_complete() -> None:
    """It has every key of a scenario."""
    cells = re.findall(
        r"^\| (`.*?`) \| ", SCENARIOS.partition("## The keys")[2].partition("| rewards |")[0], re.MULTILINE
    )
    listed = re.findall(r"`\[*(\w+)\]*`", " ".join(cells))
    assert sorted(listed) == sorted(Scenario.model_fields)


def test_the_tables_of_a_design_are_complete() -> None:
    """They have every key of a trial's design; those of the allocation are the parameters of policies."""
    page = (DOCS / "looks.md").read_text(encoding="utf-8")
    for title, model in (("[trial]", TrialTable), ("[trial.looks]", LooksTable), ("[[trial.rules]]", RuleTable)):
        table = page.partition(f"| key of `{title}` |")[2].partition("\n\n")[0]
        cells = re.findall(r"^\| (`.*?`) \| ", table, re.MULTILINE)
        listed = {
            *re.findall(r"`(\w+)`", " ".join(cells)),
            *(("looks", "allocation", "rules") if title == "[trial]" else ()),
        }
        assert listed == set(model.model_fields)


def test_the_table_of_rewards_is_complete() -> None:
    """It has every kind of rewards."""
    table = SCENARIOS.partition("| rewards |")[2].partition("##")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == sorted(REWARDS.builtin)


@pytest.mark.slow
def test_the_policy_prints_what_it_says(tmp_path: Path) -> None:
    """The program, saved to a file and run, prints exactly the text below it."""
    ((program,), (printed,)) = blocks(POLICY, "python"), blocks(POLICY, "text")
    (tmp_path / "commit.py").write_text(program)
    assert run(tmp_path, "commit.py") == printed


@pytest.mark.slow
def test_the_policy_is_a_plug_in_with_one_more_line(tmp_path: Path) -> None:
    """The line and the command that the page gives work."""
    (line,) = re.findall(r"`(PLUGINS = .*?)`", POLICY)
    (command,) = re.findall(r"`(tpstream compare .*?)`", POLICY)
    (tmp_path / "commit.py").write_text(f"{blocks(POLICY, 'python')[0]}\n{line}\n")
    assert "commit" in tpstream(tmp_path, f"{command} -t 500 -n 2")


@pytest.mark.slow
def test_the_trace_can_be_simulated(tmp_path: Path) -> None:
    """The table and the scenario, saved under the names that the page gives, are valid, and the commands work."""
    (tmp_path / "sales.csv").write_text(blocks(TRACES, "text")[0])
    (tmp_path / "recorded.toml").write_text(blocks(TRACES, "toml")[0])
    scenario = Scenario.load(tmp_path / "recorded.toml")
    assert (scenario.span, scenario.means.tolist()) == (3, [1.5, 4.0])
    for command in blocks(TRACES, "sh")[0].splitlines():
        assert "delayed-ucb1" in tpstream(tmp_path, command)


@pytest.mark.slow
def test_many_decisions_a_day(tmp_path: Path) -> None:
    """The program makes the files of the scenario, the commands work, and the table has the numbers of both worlds."""
    run(tmp_path, "-c", blocks(TRACES, "python")[0])
    (tmp_path / "visits.toml").write_text(blocks(TRACES, "toml")[1])
    for command in blocks(TRACES, "sh")[1].splitlines():
        assert "delayed-ucb1" in tpstream(tmp_path, command)
    scenario, known, rows = Scenario.load(tmp_path / "visits.toml"), [], []
    for world in (scenario, scenario.with_(arrivals={"kind": "regular"})):
        study = compare(world, runs=10)
        regret = study.table().set_index("policy")["regret"]
        outstanding = study.money([1200]).set_index("policy")["outstanding"]["delayed-ucb1"]
        rows.append([f"EUR {number:,.0f}" for number in (*regret, outstanding)])
        (found,) = re.findall(r"; (\d+) more decisions are due", describe_duration(world.build_world(0, 0), None))
        known.append(found)
    table = [line.split(" | ") for line in TRACES.partition("| after 1,200")[2].partition("\n\n")[0].splitlines()[2:]]
    assert [[cell.strip(" |") for cell in line[1:]] for line in table] == [known, *map(list, zip(*rows, strict=True))]
