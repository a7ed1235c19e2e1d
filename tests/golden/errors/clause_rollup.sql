SELECT name, count(*) FROM trips GROUP BY ROLLUP (name)
-- error
-- <cell>:1:51: ROLLUP is not supported
--   SELECT name, count(*) FROM trips GROUP BY ROLLUP (name)
--                                                     ^^^^
