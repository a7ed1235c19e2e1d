CREATE TABLE x (a INT, b TEXT GENERATED ALWAYS AS (a + 1) STORED) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:52: the generated column 'b' is declared TEXT, but its expression is BIGINT
--   CREATE TABLE x (a INT, b TEXT GENERATED ALWAYS AS (a + 1) STORED) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                                      ^^^^^
--   hint: cast the expression to TEXT
