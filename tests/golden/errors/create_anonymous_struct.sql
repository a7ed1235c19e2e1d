CREATE TABLE x (a STRUCT<INT>) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:26: anonymous struct fields are not allowed
--   CREATE TABLE x (a STRUCT<INT>) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                            ^^^
