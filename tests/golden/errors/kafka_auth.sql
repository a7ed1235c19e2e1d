CREATE TABLE t0 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl');
CREATE TABLE t1 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'sasl', 'auth.mechanism' = 'GSSAPI', 'auth.protocol' = 'SASL_SSL', 'auth.username' = 'u', 'auth.password' = '{{ P }}');
CREATE TABLE t2 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.username' = 'u');
CREATE TABLE t3 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'auth.type' = 'aws_msk_iam', 'auth.region' = 'eu-west-1');
CREATE TABLE t4 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'fetch.wait.max.ms');
CREATE TABLE t5 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'fetch.wait.maxms=5');
CREATE TABLE t6 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'group.id=me');
CREATE TABLE t7 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'client_configs' = 'sasl.mechanism=GSSAPI')
-- error
