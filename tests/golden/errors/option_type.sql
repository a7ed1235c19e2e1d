CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'upsert', format = 'json')
-- error
-- <cell>:1:70: Failed to create table x caused by invalid value for 'type': `upsert`; the connector 'single_file' can be 'lookup' or 'sink' or 'source'
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'upsert', format = 'json')
--                                                                        ^^^^^^^^^^^^^^^
