"""How a kernel is left to the next test: with a new session, and nothing in it, on the
engine that was started."""

FRESH_SESSION = """
from arroyo_nb.extension import active_session, load
from arroyo_nb.session import Session
session = active_session()
session._owns_engine = False
get_ipython().extension_manager.unload_extension("arroyo_nb")
load(get_ipython(), Session(engine=session.engine, tell=session._tell))
get_ipython().reset(new_session=False)
"""
