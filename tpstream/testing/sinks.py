"""The check of sinks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tpstream.engines.draws import Draws, DrawsReader
from tpstream.engines.simpy_engine import SimpyEngine
from tpstream.log import SINKS
from tpstream.log.schema import Header, package_versions
from tpstream.log.sinks import SinkKind
from tpstream.model.events import Events
from tpstream.model.random_streams import Purpose, open_stream
from tpstream.model.world import Timing, World
from tpstream.policies.runner import start_policy
from tpstream.testing.probe import Subject, subject_of
from tpstream.testing.runs import SimulatedRun, default_policy, difference, finish, plain_world, run_simpy


class Interruption(Exception):  # noqa: N818 (it stands for whatever ends a run)
    """Something else goes wrong while a sink is open."""


def check_sink(kind: SinkKind | str, settings: Mapping[str, Any] | None = None, *, name: str | None = None) -> None:
    """Raise unless a sink keeps what it promises, for these settings.

    It hears a whole run and leaves it as it is, can be opened several times at once, and when a run ends by an error it
    is left without a fault and without hiding that error.
    """
    subject = subject_of(SINKS, kind, name)
    with subject.watched():
        given = subject.settings(subject.definition.settings, settings)
        world = plain_world(6, 3, 60, Timing())
        form, parameters = default_policy()
        alone, header = run_simpy(world, form, parameters), _header(world)
        with subject.definition.open(given, header) as sink, subject.definition.open(given, header) as other:
            for one in (sink, other):
                if not hasattr(one, "hear"):
                    subject.fail(f"open must give what has hear(events), got a {type(one).__name__}")
            _check_heard(subject, alone, _run_with(world, sink))
            other.hear(_copy(alone.events))
        _check_left(subject, given, header, alone.events)


def _run_with(world: World, sink: Any) -> SimulatedRun:
    form, parameters = default_policy()
    policy = start_policy(form, world.problem, parameters, open_stream(world.seed, world.run, Purpose.POLICY))
    engine = SimpyEngine(world, policy, form.name, reader=DrawsReader(Draws(world)))
    engine.bus.subscribe("sink", sink)
    return finish(engine)


def _check_heard(subject: Subject, alone: SimulatedRun, accompanied: SimulatedRun) -> None:
    fault = difference(alone, accompanied)
    if fault:
        subject.fail(f"changes what others hear: {fault}")


def _check_left(subject: Subject, given: Any, header: Header, events: Events) -> None:
    try:
        with subject.definition.open(given, header) as sink:
            sink.hear(_copy(events))
            _interrupt()
    except Interruption:
        return
    subject.fail("hides the error that ended a run; its __exit__ must return None")


def _interrupt() -> None:
    raise Interruption


def _copy(events: Events) -> Events:
    return events.take(np.arange(len(events)))


def _header(world: World) -> Header:
    problem, (form, parameters) = world.problem, default_policy()
    assert problem.means is not None  # noqa: S101 (the world is ours)
    return Header(
        scenario={},
        policy=form.name,
        kind=form.name,
        parameters=parameters.model_dump(mode="json"),
        seed=world.seed,
        run=world.run,
        arms=list(problem.names),
        means=problem.means.tolist(),
        maxima=problem.maxima.tolist(),
        span=problem.span,
        horizon=problem.horizon,
        groups=problem.groups,
        clairvoyant=form.clairvoyant,
        versions=package_versions(),
    )
