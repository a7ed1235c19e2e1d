SELECT count(*) FROM clicks;
SELECT nope FROM clicks
-- error
-- <cell>:2:8: column 'nope' not found
--   SELECT nope FROM clicks
--          ^^^^
--   hint: known: at, id
