"""How a client says who it is: by SASL, from a table's ``auth.*`` options or from the
``sasl.*`` settings among its client configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from arroyo_nb.errors import ArroyoError, CatalogProblem, Unsupported
from arroyo_nb.with_options import Holds, Option, OptionKind, OptionValue

JAVA_LOGINS: Mapping[str, str] = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
}
"""Java's class for each mechanism of SASL that takes a name and a password."""

LOGIN_SETTINGS: Mapping[str, str] = {
    "sasl.mechanism": "mechanism",
    "sasl.mechanisms": "mechanism",
    "sasl.username": "username",
    "sasl.password": "password",
}
"""Settings of librdkafka that are a login, by the field of :class:`Login`."""

AUTH = (
    Option(
        "auth.type",
        OptionKind.ENUM,
        "how a client says who it is",
        default="none",
        choices=("none", "sasl", "aws_msk_iam"),
        in_identity=False,
    ),
    Option(
        "auth.mechanism",
        OptionKind.ENUM,
        "of SASL: how",
        choices=tuple(JAVA_LOGINS),
        in_identity=False,
    ),
    Option(
        "auth.protocol",
        OptionKind.ENUM,
        "of SASL: with TLS or without",
        choices=("SASL_PLAINTEXT", "SASL_SSL"),
        in_identity=False,
    ),
    Option("auth.username", OptionKind.STRING, "of SASL: who", in_identity=False),
    Option(
        "auth.password",
        OptionKind.STRING,
        "of SASL: the password, best as '{{ VARIABLE }}'",
        holds=Holds.SECRET,
        in_identity=False,
    ),
    Option(
        "auth.region",
        OptionKind.STRING,
        "of aws_msk_iam: the region",
        in_identity=False,
    ),
)

_SASL = ("auth.mechanism", "auth.protocol", "auth.username", "auth.password")


@dataclass(frozen=True)
class Login:
    """A login by SASL.

    Parameters
    ----------
    mechanism
        A key of :data:`JAVA_LOGINS`.
    protocol
        ``SASL_PLAINTEXT`` or ``SASL_SSL``.
    username, password
        Shown nowhere.
    """

    mechanism: str
    protocol: str
    username: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def jaas(self) -> str:
        """The login as the ``sasl.jaas.config`` of Java's client."""
        module = f"org.apache.kafka.common.security.{JAVA_LOGINS[self.mechanism]}"
        name, word = map(_in_quotes, (self.username, self.password))
        return f"{module} required username={name} password={word};"


def _in_quotes(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def table_login(options: Mapping[str, OptionValue]) -> Login | None:
    """The login that a table's own options say; None where they say none."""
    if options["auth.type"] != "sasl":
        return None
    return Login(
        str(options["auth.mechanism"]),
        str(options["auth.protocol"]),
        str(options["auth.username"]),
        str(options["auth.password"]),
    )


def login_of_configs(configs: Mapping[str, str]) -> Login | None:
    """The login that client configs say; None where they say none."""
    parts = {
        LOGIN_SETTINGS[name]: value
        for name, value in configs.items()
        if name in LOGIN_SETTINGS
    }
    if not parts:
        return None
    return Login(
        parts.get("mechanism", "PLAIN"),
        configs.get("security.protocol", "SASL_PLAINTEXT").upper(),
        parts.get("username", ""),
        parts.get("password", ""),
    )


def auth_problems(
    options: Mapping[str, OptionValue],
) -> Iterator[tuple[str, ArroyoError]]:
    """What is wrong with how a client says who it is."""
    kind = options["auth.type"]
    required = {"sasl": _SASL, "aws_msk_iam": ("auth.region",)}.get(str(kind), ())
    for name in (*_SASL, "auth.region"):
        if name in required and name not in options:
            yield "auth.type", CatalogProblem(f"required option '{name}' not set")
        if name in options and name not in required:
            yield (
                name,
                CatalogProblem(
                    f"'{name}' cannot be set with auth.type = '{kind}'",
                    hint="write 'auth.type' = "
                    + ("'aws_msk_iam'" if name == "auth.region" else "'sasl'"),
                ),
            )
    if kind == "aws_msk_iam":
        yield "auth.type", Unsupported("auth.type = 'aws_msk_iam' is not supported yet")
