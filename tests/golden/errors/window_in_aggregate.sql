SELECT max(tumble('1 second')) FROM clicks GROUP BY id
-- error
-- <cell>:1:12: time window function tumble is not allowed in this context. Are you missing a GROUP BY clause?
--   SELECT max(tumble('1 second')) FROM clicks GROUP BY id
--              ^^^^^^^^^^^^^^^^^^
--   hint: SELECT tumble(...) AS w and GROUP BY w; a query around that one can use w as any column
