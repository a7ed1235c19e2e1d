"""Arithmetic of whole numbers that wraps around, as SQL functions of a session.

An overflow is an error to an ANSI session, and two's complement to Arroyo
(arroyo-semantics i.3). Spark has both: each of its operators carries a mode, that of
the session unless it is told. These functions build the operators in the mode that
wraps, which compiles to Java's own ``+``. They are names for the analyser: plans hold
Spark's expressions, so a cluster's workers and a query's state know nothing of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADD = "wrapping_add"
SUBTRACT = "wrapping_subtract"
MULTIPLY = "wrapping_multiply"
NEGATE = "wrapping_negate"
SUM = "wrapping_sum"
"""Of numbers narrower than BIGINT it is a BIGINT."""
LOW_BITS = "low_bits"
"""The last 64 bits of a decimal without a fraction, as BIGINT."""

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


def register(session: SparkSession) -> None:
    """Give a session the functions."""
    classic: Any = session
    builders = _Builders(classic.sparkContext)
    registry = classic._jsparkSession.sessionState().functionRegistry()
    wraps = builders.singleton(f"{_EXPRESSIONS}EvalMode").LEGACY()
    # The flag is for decimals, which none of the operands is.
    numeric = getattr(builders.jvm, f"{_EXPRESSIONS}NumericEvalContext")(wraps, False)
    bigint = builders.singleton("org.apache.spark.sql.types.LongType")
    no_zone = builders.jvm.scala.Option.empty()
    rows: tuple[tuple[str, str, int, tuple[Any, ...]], ...] = (
        (ADD, "Add", 2, (numeric,)),
        (SUBTRACT, "Subtract", 2, (numeric,)),
        (MULTIPLY, "Multiply", 2, (numeric,)),
        (NEGATE, "UnaryMinus", 1, (False,)),
        (SUM, "aggregate.Sum", 1, (numeric,)),
        (LOW_BITS, "Cast", 1, (bigint, no_zone, wraps)),
    )
    for name, expression, operands, others in rows:
        builder = builders.function(expression, operands, others)
        registry.createOrReplaceTempFunction(name, builder, "built-in")


class _Builders:
    """Constructors of Spark's expressions as Scala functions of a list of operands.

    They are method handles: a class of ours would have to be on the class path of every
    Spark that somebody hands in.
    """

    def __init__(self, spark: Any) -> None:
        self.jvm: Any = spark._jvm
        self._gateway = spark._gateway
        thread = self.jvm.java.lang.Thread.currentThread()
        self._load = thread.getContextClassLoader().loadClass
        # Each name that is looked up in the JVM is a call.
        self._any = self.jvm.java.lang.Object
        invoke = self.jvm.java.lang.invoke
        self._handle, self._handles = invoke.MethodHandle, invoke.MethodHandles
        self._type = invoke.MethodType.methodType
        self._as_function = invoke.MethodHandleProxies.asInterfaceInstance
        self._lookup = self._handles.publicLookup()
        self._interface = self._load("scala.Function1")
        self._object = self._load("java.lang.Object")
        self._objects = self._array(self._any).getClass()
        self._to_array = self._list_to_array()

    def function(self, expression: str, operands: int, others: Sequence[Any]) -> Any:
        """What makes an expression of a Scala list of its operands.

        Parameters
        ----------
        expression
            The name of its class.
        operands
            How many it has.
        others
            The arguments of its constructor behind them.
        """
        constructors = self._load(f"{_EXPRESSIONS}{expression}").getConstructors()
        count = operands + len(others)
        made = self._lookup.unreflectConstructor(
            next(c for c in constructors if c.getParameterCount() == count)
        )
        made = self._bound(made, operands, *others).asSpreader(self._objects, operands)
        read = self._array(self._handle, self._to_array)
        made = self._handles.filterArguments(made, 0, read)
        made = made.asType(self._type(self._object, self._object))
        return self._as_function(self._interface, made)

    def singleton(self, name: str) -> Any:
        """A Scala object."""
        return getattr(getattr(self.jvm, f"{name}$"), "MODULE$")

    def _list_to_array(self) -> Any:
        tag = self._load("scala.reflect.ClassTag")
        to_array = self._lookup.findVirtual(
            self._load("scala.collection.immutable.Seq"),
            "toArray",
            self._type(self._object, tag),
        )
        of_objects = self.singleton("scala.reflect.ClassTag").AnyRef()
        made = self._bound(to_array, 1, of_objects)
        return made.asType(self._type(self._objects, self._object))

    def _bound(self, handle: Any, at: int, *values: Any) -> Any:
        array = self._array(self._any, *values)
        return self._handles.insertArguments(handle, at, array)

    def _array(self, of: Any, *values: Any) -> Any:
        array = self._gateway.new_array(of, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array
