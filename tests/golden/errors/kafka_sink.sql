CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly', 'source.offset' = 'earliest');
CREATE TABLE b (n INT, at TEXT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.key_field' = m, 'sink.timestamp_field' = at);
CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'raw_string');
CREATE TABLE d (n INT, p INT METADATA FROM 'partition') WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json');
CREATE TABLE e (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'client_configs' = 'fetch.wait.max.ms=9');
CREATE TABLE f (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'client_configs' = 'transactional.id=me');
CREATE TABLE g (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'json.confluent_schema_registry' = true);
CREATE TABLE h (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'json.include_schema' = true, 'json.confluent_schema_registry' = true, 'schema_registry.endpoint' = 'http://h');
CREATE TABLE i (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once', 'client_configs' = 'acks=1,enable.idempotence=false,retries={{ R }}');
CREATE TABLE j (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once', 'client_configs' = 'acks=all,max.in.flight=6');
CREATE TABLE k (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'client_configs' = 'acks=1')
-- error
-- <cell>:1:144: Failed to create table a caused by invalid value for 'sink.commit_mode': `exactly`; expected one of 'at_least_once' or 'exactly_once'
--   CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly', 'source.offset' = 'earliest');
--                                                                                                                                                  ^^^^^^^^^
--   hint: did you mean 'exactly_once'?
-- <cell>:1:155: Failed to create table a caused by unknown options provided in WITH clause: 'source.offset'
--   CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly', 'source.offset' = 'earliest');
--                                                                                                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: remove it: only a source has 'source.offset'
-- <cell>:2:132: Failed to create table b caused by field m not found
--   CREATE TABLE b (n INT, at TEXT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.key_field' = m, 'sink.timestamp_field' = at);
--                                                                                                                                      ^^^^^^^^^^^^^^^^^^^^
--   hint: known: at, n
-- <cell>:2:154: Failed to create table b caused by field at not found or not a timestamp
--   CREATE TABLE b (n INT, at TEXT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.key_field' = m, 'sink.timestamp_field' = at);
--                                                                                                                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:3:106: Failed to create table c caused by raw_string format requires a schema with a single field called `value` of type TEXT
--   CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'raw_string');
--                                                                                                            ^^^^^^^^^^^^^^^^^^^^^
-- <cell>:4:124: Failed to create table d caused by 'p' is METADATA FROM 'partition', which only a record that is read has
--   CREATE TABLE d (n INT, p INT METADATA FROM 'partition') WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json');
--                                                                                                                              ^^^^^^^^^^^^^
--   hint: a sink has 'sink.key_field' and 'sink.timestamp_field'
-- <cell>:5:123: Failed to create table e caused by the client config 'fetch.wait.max.ms' has no counterpart in the client of Spark
--   CREATE TABLE e (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'client_configs' = 'fetch.wait.max.ms=9');
--                                                                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:6:123: Failed to create table f caused by 'client_configs' cannot set 'transactional.id'
--   CREATE TABLE f (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'client_configs' = 'transactional.id=me');
--                                                                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: the run decides it
-- <cell>:7:123: Failed to create table g caused by required option 'schema_registry.endpoint' not set
--   CREATE TABLE g (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'json.confluent_schema_registry' = true);
--                                                                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: a sink registers the schema of its records there
-- <cell>:8:123: Failed to create table h caused by at most one of `json.confluent_schema_registry` and `json.include_schema` may be set
--   … WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'json.include_schema' = true, 'json.confluent_schema_registry' = true, 'schema_registry.endpoint' = …
--                                                                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:9:160: Failed to create table i caused by with 'sink.commit_mode' = 'exactly_once' the client config 'acks' cannot be '1'
--   …connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once', 'client_configs' = 'acks=1,enable.idempotence=false,retries={{ R }}');
--                                                                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: remove 'acks': a transaction needs a client that retries, keeps the order and waits for all replicas
-- <cell>:9:160: Failed to create table i caused by with 'sink.commit_mode' = 'exactly_once' the client config 'enable.idempotence' cannot be 'false'
--   …connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once', 'client_configs' = 'acks=1,enable.idempotence=false,retries={{ R }}');
--                                                                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: remove 'enable.idempotence': a transaction needs a client that retries, keeps the order and waits for all replicas
-- <cell>:10:160: Failed to create table j caused by with 'sink.commit_mode' = 'exactly_once' the client config 'max.in.flight' cannot be '6'
--   … TABLE j (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once', 'client_configs' = 'acks=all,max.in.flight=6');
--                                                                                                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: remove 'max.in.flight': a transaction needs a client that retries, keeps the order and waits for all replicas
