CREATE TABLE a (n BIGINT) WITH (
  connector = 'filesystem', type = 'source', format = 'json', path = '/data/a',
  'rolling_policy.interval' = '5 seconds'
);
CREATE TABLE b (n BIGINT) WITH (
  connector = 'filesystem', type = 'sink', format = 'json', path = '/data/b',
  'source.compression' = 'gzip', 'rolling_policy.file_sise' = '1MB'
);
CREATE TABLE c (n BIGINT) WITH (
  connector = 'filesystem', type = 'sink', format = 'json', path = '/data/c',
  'filename.strategy' = 'uuid_7', 'parquet.compression' = 'zstd'
);
-- error
-- <cell>:3:3: Failed to create table a caused by unknown options provided in WITH clause: 'rolling_policy.interval'
--     'rolling_policy.interval' = '5 seconds'
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: remove it: only a sink has 'rolling_policy.interval'
-- <cell>:7:3: Failed to create table b caused by unknown options provided in WITH clause: 'source.compression', 'rolling_policy.file_sise'
--     'source.compression' = 'gzip', 'rolling_policy.file_sise' = '1MB'
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: remove it: only a source has 'source.compression'
-- <cell>:11:25: Failed to create table c caused by invalid value for 'filename.strategy': `uuid_7`; expected one of 'uuid_v7' or 'uuid' or 'ulid' or 'serial'
--     'filename.strategy' = 'uuid_7', 'parquet.compression' = 'zstd'
--                           ^^^^^^^^
--   hint: did you mean 'uuid_v7'?
-- <cell>:11:35: Failed to create table c caused by unknown options provided in WITH clause: 'parquet.compression'
--     'filename.strategy' = 'uuid_7', 'parquet.compression' = 'zstd'
--                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: did you mean 'json.compression'?
