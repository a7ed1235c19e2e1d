SELECT session(INTERVAL '10 seconds') AS w, name, count(*) FROM trips GROUP BY session(INTERVAL '5 seconds'), name
-- error
-- <cell>:1:8: time window function session is not allowed in this context. Are you missing a GROUP BY clause?
--   SELECT session(INTERVAL '10 seconds') AS w, name, count(*) FROM trips GROUP BY session(INTERVAL '5 seconds'), name
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: GROUP BY has another window, session(INTERVAL '5 seconds'): write that one here too
