CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once', 'sink.key_field' = n)
-- error
-- <cell>:1:91: Failed to create table a caused by writing to Kafka is not supported yet
--   CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once', 'sink.key_field' = n)
--                                                                                             ^^^^^^^^^^^^^
