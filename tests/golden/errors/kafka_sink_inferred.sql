CREATE TABLE a WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.key_field' = nam);
CREATE TABLE b WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'raw_bytes');
INSERT INTO a SELECT id, name FROM trips;
INSERT INTO b SELECT id FROM trips
-- error
-- <cell>:3:13: Failed to create table a caused by field nam not found
--   INSERT INTO a SELECT id, name FROM trips;
--               ^
--   hint: did you mean 'name'?
-- <cell>:4:13: Failed to create table b caused by raw_bytes format requires a schema with a single field called `value` of type BYTEA
--   INSERT INTO b SELECT id FROM trips
--               ^
