SELECT rank() OVER (ORDER BY tumble('1 minute')) AS r FROM trips;
SELECT rank() OVER (PARTITION BY hop('1 minute', '2 minutes') ORDER BY count(*)) AS r FROM trips GROUP BY tumble('1 minute')
-- error
-- <cell>:1:30: time window function tumble is not allowed in this context. Are you missing a GROUP BY clause?
--   SELECT rank() OVER (ORDER BY tumble('1 minute')) AS r FROM trips;
--                                ^^^^^^^^^^^^^^^^^^
--   hint: SELECT tumble(...) AS w and GROUP BY w; a query around that one can use w as any column
-- <cell>:2:34: time window function hop is not allowed in this context. Are you missing a GROUP BY clause?
--   SELECT rank() OVER (PARTITION BY hop('1 minute', '2 minutes') ORDER BY count(*)) AS r FROM trips GROUP BY tumble('1 minute')
--                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: SELECT hop(...) AS w and GROUP BY w; a query around that one can use w as any column
