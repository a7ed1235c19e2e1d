CREATE TABLE x WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:14: Failed to create table x caused by a source needs its columns: only sources with columns of their own can omit them
--   CREATE TABLE x WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                ^
