CREATE TABLE x WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:14: Failed to create table x caused by a source needs its columns: only sources that bring their own may leave them out
--   CREATE TABLE x WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                ^
