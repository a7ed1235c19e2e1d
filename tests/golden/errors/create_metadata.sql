CREATE TABLE x (a INT, k TEXT METADATA FROM 'key') WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:24: unknown metadata field 'key' for x connector 'single_file'
--   CREATE TABLE x (a INT, k TEXT METADATA FROM 'key') WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                          ^^^^^^
