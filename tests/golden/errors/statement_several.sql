TRUNCATE clicks;
DELETE FROM clicks;
SELECT nope FROM clicks
-- error
-- <cell>:1:1: Unsupported statement: TRUNCATE
--   TRUNCATE clicks;
--   ^^^^^^^^
-- <cell>:2:1: Unsupported statement: DELETE
--   DELETE FROM clicks;
--   ^^^^^^
-- <cell>:3:8: column 'nope' not found
--   SELECT nope FROM clicks
--          ^^^^
--   hint: known: at, id
