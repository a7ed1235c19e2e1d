CREATE TABLE x (a INT) WITH (connector = 'kinesis', stream_name = 't')
-- error
