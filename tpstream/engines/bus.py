"""The bus: hands every event to every subscriber, in order."""

from tpstream.model.errors import LogError, SubscriberError
from tpstream.model.events import Events
from tpstream.model.protocols import Subscriber


class Bus:
    """Subscribers hear each batch in the order in which they subscribed."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[str, Subscriber]] = []

    def subscribe(self, name: str, subscriber: Subscriber) -> None:
        """From now on the subscriber hears everything; the name is for errors."""
        self._subscribers.append((name, subscriber))

    @property
    def names(self) -> list[str]:
        """Who subscribed."""
        return [name for name, _ in self._subscribers]

    def publish(self, events: Events) -> None:
        """Hand the events on; a subscriber that raises stops the run."""
        for name, subscriber in self._subscribers:
            try:
                subscriber.hear(events)
            except LogError:
                raise  # it names its file
            except Exception as error:
                first, last, round = (int(number) for number in (events.seq[0], events.seq[-1], events.round[-1]))
                raise SubscriberError(
                    f"subscriber {name!r} raised {type(error).__name__} on events {first} to {last} "
                    f"(round {round}): {error}"
                ) from error
