CREATE TABLE a (n BIGINT) WITH (
  connector = 'filesystem', type = 'sink', format = 'json', path = 's3://bucket/out',
  'rolling_policy.watermark_expiration' = true, 'multipart.max_parts' = 7,
  'filename.prefix' = 'a/b', 'partitioning.time_pattern' = '%Y/%U'
);
CREATE TABLE b (n BIGINT) WITH (
  connector = 'filesystem', type = 'source', format = 'parquet', path = '/data/b',
  'source.regex_pattern' = '(', 'source.compression' = 'gzip'
);
CREATE TABLE c (n BIGINT) WITH (
  connector = 'filesystem', type = 'sink', format = 'parquet', path = '/data/c',
  'json.compression' = 'gzip'
);
CREATE TABLE d (n BIGINT) WITH (
  connector = 'filesystem', type = 'sink', format = 'debezium_json', path = '/data/d',
  'partitioning.fields' = [n]
);
-- error
-- <cell>:2:61: Failed to create table a caused by the path 's3://bucket/out' is not local; only local paths are supported
--     connector = 'filesystem', type = 'sink', format = 'json', path = 's3://bucket/out',
--                                                               ^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: give a path of this machine, plain or as file:///...
-- <cell>:3:3: Failed to create table a caused by the option 'rolling_policy.watermark_expiration' is not supported: a sink is given rows, not the watermark
--     'rolling_policy.watermark_expiration' = true, 'multipart.max_parts' = 7,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:3:49: Failed to create table a caused by the option 'multipart.max_parts' is for object stores; only local paths are supported
--     'rolling_policy.watermark_expiration' = true, 'multipart.max_parts' = 7,
--                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:4:3: Failed to create table a caused by 'filename.prefix' is part of a name: it has no slash
--     'filename.prefix' = 'a/b', 'partitioning.time_pattern' = '%Y/%U'
--     ^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:4:30: Failed to create table a caused by the specifier '%U' of a time pattern is not supported
--     'filename.prefix' = 'a/b', 'partitioning.time_pattern' = '%Y/%U'
--                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: known: %Y %y %m %-m %b %h %B %d %-d %j %a %A %H %-H %I %-I %M %-M %S %-S %p %f %3f %6f %9f %.3f %.6f %.9f %F %T %X %R %D %x %z %:z
-- <cell>:8:3: Failed to create table b caused by the value of 'source.regex_pattern' is not a regular expression: missing ), unterminated subpattern at position 0
--     'source.regex_pattern' = '(', 'source.compression' = 'gzip'
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:8:33: Failed to create table b caused by Parquet files are packed inside: leave it out
--     'source.regex_pattern' = '(', 'source.compression' = 'gzip'
--                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:12:3: Failed to create table c caused by 'json.compression' is for lines, not for Parquet files
--     'json.compression' = 'gzip'
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write parquet.compression
-- <cell>:16:3: Failed to create table d caused by 'partitioning.fields' is not supported for debezium_json: the row before and the row after can be of different folders
--     'partitioning.fields' = [n]
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^
