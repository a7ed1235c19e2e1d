TRUNCATE clicks;
DELETE FROM clicks;
SELECT nope FROM clicks
-- error
-- <cell>:1:1: Unsupported statement: TRUNCATE
--   TRUNCATE clicks;
--   ^^^^^^^^
--   hint: rows of a stream are not changed: leave some out with WHERE in a query, or read changes with format = 'debezium_json'
-- <cell>:2:1: Unsupported statement: DELETE
--   DELETE FROM clicks;
--   ^^^^^^
--   hint: rows of a stream are not changed: leave some out with WHERE in a query, or read changes with format = 'debezium_json'
-- <cell>:3:8: column 'nope' not found
--   SELECT nope FROM clicks
--          ^^^^
--   hint: known: at, id
