"""From a definition in Rust to what a worker calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arroyo_nb.udfs.definition import Udf
from arroyo_nb.udfs.rust.crate import Crate

if TYPE_CHECKING:
    from arroyo_nb.source import ScriptText
    from arroyo_nb.udfs.rust.calls import RustCall


def load(udf: Udf, source: ScriptText) -> RustCall:
    """Compile a definition, unless that was done before, and give what a worker calls.

    Raises
    ------
    ArroyoError
        When it does not compile, with places in the source; when nothing can compile
        it here.
    """
    import pyarrow as pa

    from arroyo_nb.schema import arrow_type
    from arroyo_nb.udfs.rust.build import compile_crate
    from arroyo_nb.udfs.rust.calls import RustCall
    from arroyo_nb.udfs.rust.libraries import read_library

    path = compile_crate(Crate(udf.name, udf.kind, source))
    types = [arrow_type(parameter.type) for parameter in udf.parameters]
    if udf.is_aggregate:
        types = [pa.list_(type_) for type_ in types]
    library = read_library(udf.name, path)
    return RustCall(library, tuple(types), arrow_type(udf.result), udf.options)
