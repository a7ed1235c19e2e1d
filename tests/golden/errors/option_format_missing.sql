CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source')
-- error
-- <cell>:1:14: Failed to create table x caused by 'format' must be set for Single file connection
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source')
--                ^
--   hint: write format = 'json' or format = 'debezium_json'
