CREATE TABLE t0 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl');
CREATE TABLE t1 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl', 'auth.mechanism' = 'GSSAPI', 'auth.protocol' = 'SASL_SSL', 'auth.username' = 'u', 'auth.password' = '{{ P }}');
CREATE TABLE t2 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.username' = 'u');
CREATE TABLE t3 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'aws_msk_iam', 'auth.region' = 'eu-west-1');
CREATE TABLE t4 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'fetch.wait.max.ms');
CREATE TABLE t5 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'fetch.wait.maxms=5');
CREATE TABLE t6 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'group.id=me');
CREATE TABLE t7 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'sasl.mechanism=GSSAPI')
-- error
-- <cell>:1:126: Failed to create table t0 caused by required option 'auth.mechanism' not set
--   CREATE TABLE t0 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^
-- <cell>:1:126: Failed to create table t0 caused by required option 'auth.protocol' not set
--   CREATE TABLE t0 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^
-- <cell>:1:126: Failed to create table t0 caused by required option 'auth.username' not set
--   CREATE TABLE t0 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^
-- <cell>:1:126: Failed to create table t0 caused by required option 'auth.password' not set
--   CREATE TABLE t0 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^
-- <cell>:2:167: Failed to create table t1 caused by invalid value for 'auth.mechanism': `GSSAPI`; expected one of 'PLAIN' or 'SCRAM-SHA-256' or 'SCRAM-SHA-512'
--   …ap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl', 'auth.mechanism' = 'GSSAPI', 'auth.protocol' = 'SASL_SSL', 'auth.username' = 'u', 'auth.password' = '{{ P }}');
--                                                                                                                ^^^^^^^^
--   hint: known: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
-- <cell>:3:126: Failed to create table t2 caused by 'auth.username' cannot be set with auth.type = 'none'
--   CREATE TABLE t2 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.username' = 'u');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^
--   hint: write 'auth.type' = 'sasl'
-- <cell>:4:126: Failed to create table t3 caused by auth.type = 'aws_msk_iam' is not supported yet
--   CREATE TABLE t3 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'aws_msk_iam', 'auth.region' = 'eu-west-1');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:5:126: Failed to create table t4 caused by invalid value for 'client_configs': expected pairs of a name and a value, with commas between
--   CREATE TABLE t4 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'fetch.wait.max.ms');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write client_configs = 'client.id=me,fetch.min.bytes=1'
-- <cell>:6:126: Failed to create table t5 caused by the client config 'fetch.wait.maxms' has no counterpart in the client of Spark
--   CREATE TABLE t5 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'fetch.wait.maxms=5');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: did you mean 'fetch.wait.max.ms'?
-- <cell>:7:126: Failed to create table t6 caused by 'client_configs' cannot set 'group.id'
--   CREATE TABLE t6 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'group.id=me');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: set 'source.group_id'
-- <cell>:8:126: Failed to create table t7 caused by the mechanism 'GSSAPI' is not supported
--   CREATE TABLE t7 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'sasl.mechanism=GSSAPI')
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: supported: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
