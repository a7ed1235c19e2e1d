CREATE TABLE x (a INT) WITH (connector = 'kinesis', stream_name = 't')
-- error
-- <cell>:1:30: Failed to create table x caused by the connector 'kinesis' is not supported yet
--   CREATE TABLE x (a INT) WITH (connector = 'kinesis', stream_name = 't')
--                                ^^^^^^^^^^^^^^^^^^^^^
