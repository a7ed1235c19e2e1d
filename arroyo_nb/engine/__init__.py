"""The JVM and the SparkSession: started, warmed up, replaced when they die, ended.

Nothing here imports pyspark until a session is wanted, and then on the one worker
thread that makes all Spark calls.
"""

from arroyo_nb.engine.engine import Engine, Event
from arroyo_nb.engine.errors import EngineProblem
from arroyo_nb.engine.worker_thread import Worker

__all__ = ["Engine", "EngineProblem", "Event", "Worker"]
