CREATE TABLE x (a INT) WITH (connector = 'single_file', path = 5, type = 'source', format = 'json')
-- error
-- <cell>:1:64: Failed to create table x caused by expected with option 'path' to be a single-quoted string, but it was `5`
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = 5, type = 'source', format = 'json')
--                                                                  ^
