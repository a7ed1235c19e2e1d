INSERT INTO users SELECT name, name AS called, 1 AS n, NULL AS place FROM trips
-- error
-- <cell>:1:13: lookup (temporary) tables cannot be inserted into
--   INSERT INTO users SELECT name, name AS called, 1 AS n, NULL AS place FROM trips
--               ^^^^^
--   hint: 'users' is only looked up, in a JOIN
