-- strict
CREATE TABLE a (id INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'protobuf', 'protobuf.file' = 'm.proto');
SELECT id FROM a;
-- error
-- <cell>:3:16: Protobuf is not yet supported in CREATE TABLE statements
--   SELECT id FROM a;
--                  ^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
