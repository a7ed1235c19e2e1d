SELECT name, count(*) FROM trips GROUP BY tumble('1 s'), name HAVING tumble('1 s') IS NULL
-- error
-- <cell>:1:70: time window function tumble is not allowed in this context. Are you missing a GROUP BY clause?
--   SELECT name, count(*) FROM trips GROUP BY tumble('1 s'), name HAVING tumble('1 s') IS NULL
--                                                                        ^^^^^^^^^^^^^
--   hint: SELECT tumble(...) AS w and GROUP BY w; a query around that one can use w as any column
