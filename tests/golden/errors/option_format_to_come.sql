CREATE TABLE x (a INT PRIMARY KEY) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'debezium_json')
-- error
-- <cell>:1:99: Failed to create table x caused by the format 'debezium_json' is not supported yet
--   CREATE TABLE x (a INT PRIMARY KEY) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'debezium_json')
--                                                                                                     ^^^^^^^^^^^^^^^^^^^^^^^^
