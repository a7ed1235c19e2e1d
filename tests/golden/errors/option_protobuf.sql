CREATE TABLE a (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf');
CREATE TABLE b (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'message M { optional int3 id = 1; }');
CREATE TABLE c (idd INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; }');
CREATE TABLE d (id TEXT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; }');
CREATE TABLE e (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; } message N {}', 'protobuf.file' = 'm.proto');
CREATE TABLE f (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.schema' = 'syntax = "proto3"; message M { int32 id = 1; } message N {}');
CREATE TABLE g (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.confluent_schema_registry' = true);
CREATE TABLE h (id INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'protobuf', 'protobuf.file' = 'm.proto')
