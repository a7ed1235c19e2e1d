CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'lookup', format = 'json')
-- error
-- <cell>:1:70: Failed to create table x caused by invalid value for 'type': `lookup`; the connector 'single_file' can be 'sink' or 'source'
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'lookup', format = 'json')
--                                                                        ^^^^^^^^^^^^^^^
