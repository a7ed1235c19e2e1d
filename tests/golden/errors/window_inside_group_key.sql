SELECT count(*) FROM clicks GROUP BY tumble('1 second').start
-- error
-- <cell>:1:38: time window function tumble is not allowed in this context. Are you missing a GROUP BY clause?
--   SELECT count(*) FROM clicks GROUP BY tumble('1 second').start
--                                        ^^^^^^^^^^^^^^^^^^
--   hint: SELECT tumble(...) AS w and GROUP BY w; a query around that one can use w as any column
