CREATE TABLE x (a INT, b TEXT, a TEXT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:32: invalid field names in schema: the column 'a' is declared twice
--   CREATE TABLE x (a INT, b TEXT, a TEXT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                  ^
