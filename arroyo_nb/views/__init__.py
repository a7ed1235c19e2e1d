"""Pictures of a run: each view draws a
:class:`~arroyo_nb.run.observe.snapshot.Snapshot`.

Views never touch Spark and never hold a run's lock. Whatever comes from the user's
data, names or errors passes through :func:`arroyo_nb.views.formatting.escaped`.
"""
