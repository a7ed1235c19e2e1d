EXPLAIN CREATE VIEW v AS SELECT id FROM clicks
-- error
-- <cell>:1:1: EXPLAIN takes a SELECT or an INSERT
--   EXPLAIN CREATE VIEW v AS SELECT id FROM clicks
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write EXPLAIN SELECT ...
