CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'raw_string');
CREATE TABLE b (value TEXT, n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'raw_bytes');
CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'json.include_schema' = true, 'json.confluent_schema_registry' = true);
CREATE TABLE d (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'debezium_json');
CREATE TABLE e (n INT) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'json', 'json.include_schema' = true);
CREATE TABLE f (n INT) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'raw_string')
-- error
-- <cell>:1:108: Failed to create table a caused by raw_string format requires a schema with a single field called `value` of type TEXT
--   CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'raw_string');
--                                                                                                              ^^^^^^^^^^^^^^^^^^^^^
-- <cell>:2:120: Failed to create table b caused by raw_bytes format requires a schema with a single field called `value` of type BYTEA
--   CREATE TABLE b (value TEXT, n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'raw_bytes');
--                                                                                                                          ^^^^^^^^^^^^^^^^^^^^
-- <cell>:3:125: Failed to create table c caused by at most one of `json.confluent_schema_registry` and `json.include_schema` may be set
--   CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'json.include_schema' = true, 'json.confluent_schema_registry' = true);
--                                                                                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:4:108: Failed to create table d caused by Debezium source must have at least one PRIMARY KEY field
--   CREATE TABLE d (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'debezium_json');
--                                                                                                              ^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write PRIMARY KEY after the type of the column that tells its rows apart
-- <cell>:5:104: Failed to create table e caused by unknown options provided in WITH clause: 'json.include_schema'
--   CREATE TABLE e (n INT) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'json', 'json.include_schema' = true);
--                                                                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: known: bad_data, connection_profile, connector, event_time_field, format, framing, framing.newline.max_length, idle_micros, json.decimal_encoding, json.timestamp_format, json.unstructured, path, type, wait_for_control, watermark_field
-- <cell>:6:87: Failed to create table f caused by the connector 'single_file' does not take the format 'raw_string'
--   CREATE TABLE f (n INT) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'raw_string')
--                                                                                         ^^^^^^^^^^^^^^^^^^^^^
--   hint: write format = 'json' or format = 'debezium_json'
