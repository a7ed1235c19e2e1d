"""``nats``: subjects and JetStream streams of NATS (arroyo-semantics b.2)."""

from __future__ import annotations

from collections.abc import Iterator

from arroyo_nb.connectors import ConnectorInfo, Direction, TableSpec
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

_LOGINS = {
    "credentials": ("auth.username", "auth.password"),
    "jwt": ("auth.jwt", "auth.nkey_seed"),
}
_CONSUMER_TEXTS = ("description", "ack_policy", "replay_policy", "filter_subjects")
_CONSUMER_NUMBERS = (
    *("ack_wait", "sample_frequency", "num_replicas", "inactive_threshold"),
    *("rate_limit", "max_ack_pending", "max_deliver", "max_waiting", "max_batch"),
    *("max_bytes", "max_expires"),
)
_CONSUMER = tuple(
    Option(
        f"consumer.{name}",
        kind,
        "a setting of JetStream's consumer",
        only="source",
        in_identity=False,
    )
    for names, kind in (
        (_CONSUMER_TEXTS, OptionKind.STRING),
        (_CONSUMER_NUMBERS, OptionKind.INT),
    )
    for name in names
)


class Nats(ArroyoOnly):
    """Subjects and streams of NATS: which of the two follows from the options."""

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with options that are right each by itself."""
        given = [name for name in ("stream", "subject") if name in spec.options]
        if direction is Direction.SINK and "subject" not in given:
            yield "type", CatalogProblem("`subject` must be set for sink")
        elif direction is Direction.SOURCE and not given:
            message = "One of `stream` or `subject` must be set"
            yield "type", CatalogProblem(message)
        elif direction is Direction.SOURCE and len(given) == 2:
            message = "Exactly one of `stream` or `subject` must be set"
            yield "subject", CatalogProblem(message)
        kind = str(spec.options.get("auth.type"))
        for name in _LOGINS.get(kind, ()):
            if name not in spec.options:
                message = f"required option '{name}' not set"
                yield "auth.type", CatalogProblem(message)


CONNECTOR = Nats(
    ConnectorInfo(
        name="nats",
        doc="subjects and streams of NATS",
        directions=frozenset({Direction.SOURCE, Direction.SINK}),
        framings=frozenset({Framing.MESSAGES}),
        runs=False,
        options=(
            Option(
                "servers",
                OptionKind.STRING,
                "host and port of one or more servers, with commas",
                required=True,
                holds=Holds.ADDRESS,
            ),
            Option(
                "subject",
                OptionKind.STRING,
                "the subject; of a source instead of a stream",
                holds=Holds.OBJECT,
            ),
            Option(
                "stream",
                OptionKind.STRING,
                "the stream of JetStream",
                only="source",
                holds=Holds.OBJECT,
            ),
            Option(
                "auth.type",
                OptionKind.ENUM,
                "how a client says who it is",
                default="none",
                choices=("none", *_LOGINS),
                in_identity=False,
            ),
            Option(
                "auth.username", OptionKind.STRING, "of credentials", in_identity=False
            ),
            Option(
                "auth.password",
                OptionKind.STRING,
                "of credentials",
                in_identity=False,
                holds=Holds.SECRET,
            ),
            Option(
                "auth.jwt",
                OptionKind.STRING,
                "of a JWT login",
                in_identity=False,
                holds=Holds.SECRET,
            ),
            Option(
                "auth.nkey_seed",
                OptionKind.STRING,
                "of a JWT login",
                in_identity=False,
                holds=Holds.SECRET,
            ),
            *_CONSUMER,
        ),
    )
)
