SELECT tumble('1 s') AS w, sum(id) AS s FROM clicks GROUP BY w, 2
-- error
-- <cell>:1:65: Aggregate functions are not allowed in GROUP BY
--   SELECT tumble('1 s') AS w, sum(id) AS s FROM clicks GROUP BY w, 2
--                                                                   ^
