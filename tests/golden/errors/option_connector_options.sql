CREATE TABLE a (a INT) WITH (connector = 'kinesis', stream_names = 't', type = 'source', format = 'json');
CREATE TABLE b (b INT) WITH (connector = 'webhook', type = 'sink', endpoint = 'http://h', format = 'json');
CREATE TABLE c (c INT) WITH (connector = 'polling_http', endpoint = 'http://h', format = 'json', emit_behavior = 'changes');
CREATE TABLE d (d INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 't', type = 'source', format = 'json', qos = 'AtLeastTwice');
CREATE TABLE e (e INT) WITH (connector = 'delta', path = 's3://b/t', type = 'source', format = 'parquet');
CREATE TABLE f (f INT) WITH (connector = 'nexmark', event_rate = 10);
CREATE TABLE g WITH (connector = 'nexmark', event_rate = 10, start_time = 'noon')
-- error
-- <cell>:1:14: Failed to create table a caused by required option 'stream_name' not set
--   CREATE TABLE a (a INT) WITH (connector = 'kinesis', stream_names = 't', type = 'source', format = 'json');
--                ^
-- <cell>:1:53: Failed to create table a caused by unknown options provided in WITH clause: 'stream_names'
--   CREATE TABLE a (a INT) WITH (connector = 'kinesis', stream_names = 't', type = 'source', format = 'json');
--                                                       ^^^^^^^^^^^^^^^^^^
--   hint: did you mean 'stream_name'?
-- <cell>:2:53: Failed to create table b caused by unknown options provided in WITH clause: 'type'
--   CREATE TABLE b (b INT) WITH (connector = 'webhook', type = 'sink', endpoint = 'http://h', format = 'json');
--                                                       ^^^^^^^^^^^^^
--   hint: known: bad_data, connection_profile, connector, endpoint, event_time_field, format, framing, framing.newline.max_length, headers, idle_micros, json.confluent_schema_registry, json.decimal_encoding, json.include_schema, json.timestamp_format, json.unstructured, watermark_field
-- <cell>:3:114: Failed to create table c caused by invalid value for 'emit_behavior': `changes`; expected one of 'all' or 'changed'
--   CREATE TABLE c (c INT) WITH (connector = 'polling_http', endpoint = 'http://h', format = 'json', emit_behavior = 'changes');
--                                                                                                                    ^^^^^^^^^
--   hint: did you mean 'changed'?
-- <cell>:4:121: Failed to create table d caused by invalid value for 'qos': `AtLeastTwice`; expected one of 'AtMostOnce' or 'AtLeastOnce' or 'ExactlyOnce'
--   CREATE TABLE d (d INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 't', type = 'source', format = 'json', qos = 'AtLeastTwice');
--                                                                                                                           ^^^^^^^^^^^^^^
--   hint: did you mean 'AtLeastOnce'?
-- <cell>:5:70: Failed to create table e caused by invalid value for 'type': `source`; the connector 'delta' can be 'sink'
--   CREATE TABLE e (e INT) WITH (connector = 'delta', path = 's3://b/t', type = 'source', format = 'parquet');
--                                                                        ^^^^^^^^^^^^^^^
-- <cell>:6:14: Failed to create table f caused by invalid schema for nexmark source; omit fields to rely on inference
--   CREATE TABLE f (f INT) WITH (connector = 'nexmark', event_rate = 10);
--                ^
--   hint: its columns are: person STRUCT<id BIGINT, name TEXT, email_address TEXT, credit_card TEXT, city TEXT, state TEXT, datetime TIMESTAMP, extra TEXT>, auction STRUCT<id BIGINT, description TEXT, item_name TEXT, initial_bid BIGINT, reserve BIGINT, datetime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra TEXT>, bid STRUCT<auction BIGINT, bidder BIGINT, price BIGINT, channel TEXT, url TEXT, datetime TIMESTAMP, extra TEXT>
-- <cell>:7:62: Failed to create table g caused by start_time must be a time from 1970 on, but it was 'noon'
--   CREATE TABLE g WITH (connector = 'nexmark', event_rate = 10, start_time = 'noon')
--                                                                ^^^^^^^^^^^^^^^^^^^
--   hint: write it as '2026-01-01T00:00:00'; it is in UTC
