CREATE TABLE x (a INT) WITH (connector = 'single_file', path, type = 'source', format = 'json')
-- error
-- <cell>:1:57: Failed to create table x caused by invalid with option: 'path'; expected an `=` delimited key-value pair
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path, type = 'source', format = 'json')
--                                                           ^^^^
