CREATE VIEW visits AS SELECT id, count(*) AS n FROM clicks GROUP BY session('10 seconds'), id;
SELECT session('10 seconds') AS w, max(n) AS top FROM visits GROUP BY w
-- error
-- <cell>:2:8: can't reinvoke session window in nested aggregates. Need to pass the window struct up from the source query.
--   SELECT session('10 seconds') AS w, max(n) AS top FROM visits GROUP BY w
--          ^^^^^^^^^^^^^^^^^^^^^
--   hint: name the window in the inner query: SELECT session(...) AS window, and GROUP BY window here
