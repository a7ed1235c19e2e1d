CREATE TABLE x (a INT, b BIGINT GENERATED ALWAYS AS (notfield + 1) STORED) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:54: column 'notfield' not found
--   CREATE TABLE x (a INT, b BIGINT GENERATED ALWAYS AS (notfield + 1) STORED) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                                        ^^^^^^^^
--   hint: known: a
