CREATE TABLE x (a INT DEFAULT 3, b INT UNIQUE) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:17: the column constraint DEFAULT is not supported
--   CREATE TABLE x (a INT DEFAULT 3, b INT UNIQUE) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                   ^^^^^^^^^^^^^^^
-- <cell>:1:34: the column constraint UNIQUE is not supported
--   CREATE TABLE x (a INT DEFAULT 3, b INT UNIQUE) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                    ^^^^^
