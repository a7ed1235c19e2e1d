CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'protobuf')
-- error
-- <cell>:1:87: Failed to create table x caused by the format 'protobuf' is not supported yet
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'protobuf')
--                                                                                         ^^^^^^^^^^^^^^^^^^^
