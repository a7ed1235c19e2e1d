CREATE TABLE a (n BIGINT) WITH (
  connector = 'single_file', type = 'sink', format = 'json', path = '/data/a',
  'json.compression' = 'gzip'
);
-- error
-- <cell>:3:3: Failed to create table a caused by 'json.compression' is only supported for the filesystem connector
--     'json.compression' = 'gzip'
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^
