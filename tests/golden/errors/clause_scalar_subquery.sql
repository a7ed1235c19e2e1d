SELECT (SELECT max(id) FROM trips) FROM clicks
-- error
-- <cell>:1:8: a scalar subquery is not supported
--   SELECT (SELECT max(id) FROM trips) FROM clicks
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
