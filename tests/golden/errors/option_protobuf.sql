CREATE TABLE a (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf');
CREATE TABLE b (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'message M { optional int3 id = 1; }');
CREATE TABLE c (idd INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; }');
CREATE TABLE d (id TEXT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; }');
CREATE TABLE e (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; } message N {}', 'protobuf.file' = 'm.proto');
CREATE TABLE f (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; } message N {}');
CREATE TABLE g (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.confluent_schema_registry' = true);
CREATE TABLE h (id INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'protobuf', 'protobuf.file' = 'm.proto')
-- error
-- <cell>:1:120: Failed to create table a caused by a table of the format 'protobuf' needs the schema of its records; write 'protobuf.file' = 'path/to/file.proto', 'protobuf.descriptor_set', 'protobuf.schema' or 'protobuf.confluent_schema_registry' = true
--   CREATE TABLE a (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf');
--                                                                                                                          ^^^^^^^^^^^^^^^^^^^
-- <cell>:2:141: Failed to create table b caused by the schema of Protocol Buffers 'schema.proto' does not compile: schema.proto:1:22: "int3" is not defined.
--   CREATE TABLE b (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'message M { optional int3 id = 1; }');
--                                                                                                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:3:142: Failed to create table c caused by the message 'M' has no field for the column 'idd'; did you mean 'id'?
--   …E c (idd INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; }');
--                                                                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:4:142: Failed to create table d caused by the column 'id' is TEXT, which the field 'M.id' cannot be; declare it INT
--   …E d (id TEXT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; }');
--                                                                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:5:224: Failed to create table e caused by at most one of 'protobuf.file' and 'protobuf.schema' may be set; each says the schema of a record
--   …opic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; } message N {}', 'protobuf.file' = 'm.proto');
--                                                                                                                                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:6:141: Failed to create table f caused by the schema of Protocol Buffers has 2 messages; write 'protobuf.message' = 'M' or 'N'
--   … WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; } message N {}');
--                                                                                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:7:141: Failed to create table g caused by required option 'schema_registry.endpoint' not set
--   CREATE TABLE g (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.confluent_schema_registry' = true);
--                                                                                                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: the schema of a topic of Kafka is read there; a table of another connector needs 'protobuf.file', 'protobuf.descriptor_set' or 'protobuf.schema'
-- <cell>:8:88: Failed to create table h caused by the connector 'single_file' does not take the format 'protobuf'
--   CREATE TABLE h (id INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'protobuf', 'protobuf.file' = 'm.proto')
--                                                                                          ^^^^^^^^^^^^^^^^^^^
--   hint: write format = 'json' or format = 'debezium_json'
