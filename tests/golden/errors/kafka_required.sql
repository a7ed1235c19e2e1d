CREATE TABLE a (n INT) WITH (connector = 'kafka', type = 'source', format = 'json');
CREATE TABLE b (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', format = 'json');
CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source');
CREATE TABLE d (n INT) WITH (connector = 'confluent', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json');
CREATE TABLE e (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'parquet');
CREATE TABLE f (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'lookup', format = 'json')
-- error
-- <cell>:1:14: Failed to create table a caused by required option 'bootstrap_servers' not set
--   CREATE TABLE a (n INT) WITH (connector = 'kafka', type = 'source', format = 'json');
--                ^
-- <cell>:1:14: Failed to create table a caused by required option 'topic' not set
--   CREATE TABLE a (n INT) WITH (connector = 'kafka', type = 'source', format = 'json');
--                ^
-- <cell>:2:14: Failed to create table b caused by required option 'type' not set
--   CREATE TABLE b (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', format = 'json');
--                ^
--   hint: write type = 'source' to read the table, type = 'sink' to write it
-- <cell>:3:14: Failed to create table c caused by 'format' must be set for Kafka connection
--   CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source');
--                ^
--   hint: write format = 'json' or format = 'debezium_json'
-- <cell>:4:14: Failed to create table d caused by required option 'key' not set
--   CREATE TABLE d (n INT) WITH (connector = 'confluent', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json');
--                ^
-- <cell>:4:14: Failed to create table d caused by required option 'secret' not set
--   CREATE TABLE d (n INT) WITH (connector = 'confluent', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json');
--                ^
-- <cell>:5:108: Failed to create table e caused by the connector 'kafka' does not take the format 'parquet'
--   CREATE TABLE e (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'parquet');
--                                                                                                              ^^^^^^^^^^^^^^^^^^
--   hint: write format = 'json' or format = 'debezium_json'
-- <cell>:6:91: Failed to create table f caused by invalid value for 'type': `lookup`; the connector 'kafka' can be 'sink' or 'source'
--   CREATE TABLE f (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'lookup', format = 'json')
--                                                                                             ^^^^^^^^^^^^^^^
