EXPLAIN SELECT id FROM clicks
-- error
-- <cell>:1:1: EXPLAIN is not supported
--   EXPLAIN SELECT id FROM clicks
--   ^^^^^^^
