"""What a session does with runs that are over: it asks what other delays would do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.run.interrupts import defer_interrupts
from arroyo_nb.run.names import safe_name
from arroyo_nb.run.option_values import duration

if TYPE_CHECKING:
    from arroyo_nb.engine.jars import Tell
    from arroyo_nb.run.prepare import PreparedRun, RunFolder
    from arroyo_nb.run.run import Run
    from arroyo_nb.run.runs import Runs
    from arroyo_nb.whatif.outcomes import WhatIf


class WhatIfTasks:
    """The part of a session that tries delays."""

    _runs: Runs
    _ready: Callable[[PreparedRun, RunFolder], Run]

    def whatif(
        self,
        name: str | Run,
        delays: str | Iterable[str | timedelta] | None = None,
        *,
        every: str | timedelta | None = None,
        output: int | None = None,
        tell: Tell | None = None,
    ) -> WhatIf:
        """Run the query of a run again with other watermark delays, and tell what each
        would lose and how long windows would wait.

        Each delay meets the same micro-batches, those of the run, so only the delay is
        different. The run itself, and what it wrote, stay as they are.

        Parameters
        ----------
        name
            The run, or its name. Its sources have an end; or it has been stopped, and
            what it has read is asked about.
        delays
            Such as ``["1s", "30m", "2h"]`` or ``"1s,30m,2h"``; None: that of the run,
            none at all, and those that would keep 99 % and more of its rows.
        every
            How much event time a micro-batch has, such as ``"1m"``; None: the batches
            are those of the run, which without a speed are large.
        output
            Which output; None: the first one with windows.
        tell
            Is told how far it is.

        Raises
        ------
        RunProblem
            When there is no such run, a delay is none, the query has no window or no
            watermark with a delay, or a source has no end.

        Examples
        --------
        ::

            found = session.whatif("by_hour", ["1s", "30m", "2h"])
            found.table().to_pandas()
        """
        from arroyo_nb.run.prepare import RunFolder
        from arroyo_nb.views.whatif import WHAT_IF_VIEWS
        from arroyo_nb.whatif.what_if import WhatIfTools, what_if

        run = self._runs.get(name) if isinstance(name, str) else name
        work = self._runs.temporary_folder(f"{safe_name(run.name)}-whatif")

        def make_run(prepared: PreparedRun) -> Run:
            folder = self._runs.temporary_folder(prepared.name)
            return self._ready(prepared, RunFolder(folder, temporary=True))

        try:
            with defer_interrupts() as interrupts:
                tools = WhatIfTools(
                    make_run, work, tell or (lambda _: None), interrupts.check,
                    WHAT_IF_VIEWS,
                )  # fmt: skip
                return what_if(run, delays, tools, every=duration(every), output=output)
        finally:
            shutil.rmtree(work, ignore_errors=True)
