CREATE TEMPORARY TABLE a (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', type = 'sink', address = 'redis://localhost:6379', format = 'json');
CREATE TEMPORARY TABLE b (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', format = 'json');
CREATE TEMPORARY TABLE c (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', 'cluster.addresses' = 'redis://one,redis://two', format = 'json');
CREATE TEMPORARY TABLE d (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'http://user:secret@one', format = 'json');
CREATE TEMPORARY TABLE e (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', format = 'json', 'lookup.cache.max_bytes' = 'much', 'lookup.cache.ttl' = INTERVAL '1 month');
CREATE TEMPORARY TABLE f (k TEXT PRIMARY KEY, n INT) WITH (connector = 'single_file', path = '/f', format = 'json', 'lookup.cache.max_bytes' = 5);
CREATE TEMPORARY TABLE g WITH (connector = 'impulse', event_rate = 1);
CREATE TABLE h (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', type = 'source', address = 'redis://one', format = 'json');
CREATE TEMPORARY TABLE i (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', format = 'avro');
CREATE TEMPORARY TABLE j (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', format = 'json', event_time_field = k)
-- error
-- <cell>:1:24: Failed to create table a caused by required option 'target' not set
--   CREATE TEMPORARY TABLE a (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', type = 'sink', address = 'redis://localhost:6379', format = 'json');
--                          ^
-- <cell>:1:24: Failed to create table a caused by required option 'target.key_prefix' not set
--   CREATE TEMPORARY TABLE a (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', type = 'sink', address = 'redis://localhost:6379', format = 'json');
--                          ^
-- <cell>:1:101: Failed to create table a caused by Cannot have a temporary table with type 'sink'; temporary tables must be type 'lookup'
--   CREATE TEMPORARY TABLE a (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', type = 'sink', address = 'redis://localhost:6379', format = 'json');
--                                                                                                       ^^^^^^^^^^^^^
--   hint: remove TEMPORARY, or the type
-- <cell>:2:24: Failed to create table b caused by exactly one of 'address' and 'cluster.addresses' must be set
--   CREATE TEMPORARY TABLE b (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', format = 'json');
--                          ^
--   hint: write address = 'redis://localhost:6379'
-- <cell>:3:24: Failed to create table c caused by exactly one of 'address' and 'cluster.addresses' must be set
--   CREATE TEMPORARY TABLE c (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', 'cluster.addresses' = 'redis://one,redis://two', format = 'json');
--                          ^
--   hint: write address = 'redis://localhost:6379'
-- <cell>:4:24: Failed to create table d caused by the address 'http://one' is not a URL of redis
--   CREATE TEMPORARY TABLE d (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'http://***********@one', format = 'json');
--                          ^
--   hint: write redis://host:port, or rediss:// for TLS
-- <cell>:5:170: Failed to create table e caused by expected with option 'lookup.cache.max_bytes' to be an unsigned integer, but it was `'much'`
--   …ABLE e (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', format = 'json', 'lookup.cache.max_bytes' = 'much', 'lookup.cache.ttl' = INTERVAL '1 month');
--                                                                                                                                                           ^^^^^^
-- <cell>:5:199: Failed to create table e caused by months are not supported in this interval
--   …ABLE e (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', format = 'json', 'lookup.cache.max_bytes' = 'much', 'lookup.cache.ttl' = INTERVAL '1 month');
--                                                                                                                                                                                        ^^^^^^^^^^^^^^^^^^
--   hint: write days, as in INTERVAL '30 days'
-- <cell>:6:117: Failed to create table f caused by unknown options provided in WITH clause: 'lookup.cache.max_bytes'
--   CREATE TEMPORARY TABLE f (k TEXT PRIMARY KEY, n INT) WITH (connector = 'single_file', path = '/f', format = 'json', 'lookup.cache.max_bytes' = 5);
--                                                                                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: known: bad_data, connection_profile, connector, event_time_field, format, framing, framing.newline.max_length, idle_micros, json.decimal_encoding, json.timestamp_format, json.unstructured, path, type, wait_for_control, watermark_field
-- <cell>:7:32: Failed to create table g caused by the connector 'impulse' has no lookup (temporary) tables
--   CREATE TEMPORARY TABLE g WITH (connector = 'impulse', event_rate = 1);
--                                  ^^^^^^^^^^^^^^^^^^^^^
-- <cell>:8:14: Failed to create table h caused by required option 'target' not set
--   CREATE TABLE h (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', type = 'source', address = 'redis://one', format = 'json');
--                ^
-- <cell>:8:14: Failed to create table h caused by required option 'target.key_prefix' not set
--   CREATE TABLE h (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', type = 'source', address = 'redis://one', format = 'json');
--                ^
-- <cell>:8:91: Failed to create table h caused by invalid value for 'type': `source`; the connector 'redis' can be 'lookup' or 'sink'
--   CREATE TABLE h (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', type = 'source', address = 'redis://one', format = 'json');
--                                                                                             ^^^^^^^^^^^^^^^
-- <cell>:9:126: Failed to create table i caused by the connector 'redis' does not take the format 'avro'
--   CREATE TEMPORARY TABLE i (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', format = 'avro');
--                                                                                                                                ^^^^^^^^^^^^^^^
--   hint: write format = 'json'
-- <cell>:10:143: Failed to create table j caused by a lookup table has no event time and no watermark
--   CREATE TEMPORARY TABLE j (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://one', format = 'json', event_time_field = k)
--                                                                                                                                                 ^^^^^^^^^^^^^^^^^^^^
--   hint: rows of a lookup join keep those of the stream
