"""From a definition in Rust to what a worker calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.udfs.rust.crate import Crate

if TYPE_CHECKING:
    from arroyo_nb.source import ScriptText
    from arroyo_nb.udfs.definition import Udf
    from arroyo_nb.udfs.rust.calls import RustCall


@dataclass(frozen=True)
class RustLoader:
    """Makes of a definition what a worker calls: compiles it where a run starts.

    Parameters
    ----------
    source
        Where it stands, for the places of errors.
    """

    source: ScriptText

    def crate(self, udf: Udf) -> Crate:
        """What is compiled for it."""
        return Crate(udf.name, udf.kind, self.source)

    def __call__(self, udf: Udf) -> RustCall:
        """What a worker calls.

        Raises
        ------
        ArroyoError
            As :func:`arroyo_nb.udfs.rust.build.compile_crate`.
        """
        import pyarrow as pa

        from arroyo_nb.schema import arrow_type
        from arroyo_nb.udfs.rust.build import compile_crate
        from arroyo_nb.udfs.rust.calls import RustCall
        from arroyo_nb.udfs.rust.libraries import read_library

        library = read_library(udf.name, compile_crate(self.crate(udf)))
        types = [arrow_type(parameter.type) for parameter in udf.parameters]
        if udf.is_aggregate:
            types = [pa.list_(type_) for type_ in types]
        return RustCall(library, tuple(types), arrow_type(udf.result), udf.options)


def crate_of(udf: Udf) -> Crate:
    """What is compiled for a Rust UDF: for who compiles it before a run starts."""
    assert isinstance(udf.load, RustLoader)
    return udf.load.crate(udf)
