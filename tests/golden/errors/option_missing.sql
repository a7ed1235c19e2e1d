CREATE TABLE x (a INT) WITH (connector = 'single_file', type = 'source', format = 'json')
-- error
-- <cell>:1:14: Failed to create table x caused by required option 'path' not set
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', type = 'source', format = 'json')
--                ^
