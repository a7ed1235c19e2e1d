"""``confluent``: the topics of Confluent Cloud: Kafka with a key and a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.kafka.login import Login
from arroyo_nb.kafka.table import KafkaTable
from arroyo_nb.kafka.table_options import (
    SCHEMA_REGISTRY,
    SERVERS,
    TABLE,
    table_problems,
)
from arroyo_nb.with_options import Holds, Option, OptionKind, OptionValue

_ENDPOINT, *_ASKED_BY = (option.name for option in SCHEMA_REGISTRY)


class Confluent(KafkaTable):
    """Confluent Cloud: Kafka by TLS, with an API key as the login."""

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with the options."""
        for name in _ASKED_BY:
            if _ENDPOINT in spec.options and name not in spec.options:
                yield _ENDPOINT, CatalogProblem(f"required option '{name}' not set")
        yield from table_problems(spec, direction)

    def login(self, options: Mapping[str, OptionValue]) -> Login:
        """The key and the secret."""
        return Login("PLAIN", "SASL_SSL", str(options["key"]), str(options["secret"]))


CONNECTOR = Confluent(
    "confluent",
    "topics of Confluent Cloud",
    (
        SERVERS,
        Option(
            "key",
            OptionKind.STRING,
            "the API key",
            required=True,
            in_identity=False,
            example="{{ API_KEY }}",
        ),
        Option(
            "secret",
            OptionKind.STRING,
            "the API secret, best as '{{ VARIABLE }}'",
            required=True,
            example="{{ API_SECRET }}",
            in_identity=False,
            holds=Holds.SECRET,
        ),
        *SCHEMA_REGISTRY,
        *TABLE,
    ),
)
