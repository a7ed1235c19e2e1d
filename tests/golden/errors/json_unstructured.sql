CREATE TABLE a (text JSON) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'json', 'json.unstructured' = true);
CREATE TABLE b (value TEXT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'json.unstructured' = true);
CREATE TABLE c (value JSON, n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'json.unstructured' = true);
CREATE TABLE d (value JSON, id INT PRIMARY KEY) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'debezium_json', 'json.unstructured' = true);
CREATE TEMPORARY TABLE e (value TEXT, id TEXT METADATA FROM 'key' PRIMARY KEY) WITH (connector = 'redis', address = 'redis://h:1', format = 'json', 'json.unstructured' = true)
-- error
-- <cell>:1:108: Failed to create table a caused by json.unstructured requires a schema with a single field called `value` of type JSON
--   CREATE TABLE a (text JSON) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'json', 'json.unstructured' = true);
--                                                                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:2:130: Failed to create table b caused by json.unstructured requires a schema with a single field called `value` of type JSON
--   CREATE TABLE b (value TEXT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'json.unstructured' = true);
--                                                                                                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:3:135: Failed to create table c caused by json.unstructured requires a schema with a single field called `value` of type JSON
--   CREATE TABLE c (value JSON, n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'json.unstructured' = true);
--                                                                                                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:4:138: Failed to create table d caused by unknown options provided in WITH clause: 'json.unstructured'
--   CREATE TABLE d (value JSON, id INT PRIMARY KEY) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'debezium_json', 'json.unstructured' = true);
--                                                                                                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: known: bad_data, connection_profile, connector, event_time_field, format, framing, framing.newline.max_length, idle_micros, json.decimal_encoding, json.timestamp_format, path, type, wait_for_control, watermark_field
-- <cell>:5:149: Failed to create table e caused by json.unstructured requires a schema with a single field called `value` of type JSON
--   CREATE TEMPORARY TABLE e (value TEXT, id TEXT METADATA FROM 'key' PRIMARY KEY) WITH (connector = 'redis', address = 'redis://h:1', format = 'json', 'json.unstructured' = true)
--                                                                                                                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^
