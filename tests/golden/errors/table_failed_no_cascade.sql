CREATE TABLE bad (x UUID) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json');
SELECT x FROM bad;
INSERT INTO bad SELECT id FROM clicks;
SELECT nope FROM clicks
-- error
-- <cell>:1:21: Unsupported SQL type 'UUID'
--   CREATE TABLE bad (x UUID) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json');
--                       ^^^^
--   hint: write TEXT
-- <cell>:4:8: column 'nope' not found
--   SELECT nope FROM clicks
--          ^^^^
--   hint: known: at, id
