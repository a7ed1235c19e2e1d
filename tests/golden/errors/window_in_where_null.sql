SELECT id FROM trips WHERE tumble('1 second') IS NULL
-- error
-- <cell>:1:28: time window function tumble is not allowed in this context. Are you missing a GROUP BY clause?
--   SELECT id FROM trips WHERE tumble('1 second') IS NULL
--                              ^^^^^^^^^^^^^^^^^^
--   hint: SELECT tumble(...) AS w and GROUP BY w; a query around that one can use w as any column
