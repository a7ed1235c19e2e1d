CREATE TABLE a (n INT) WITH (connector = 'kafka', type = 'source', format = 'json');
CREATE TABLE b (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', format = 'json');
CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source');
CREATE TABLE d (n INT) WITH (connector = 'confluent', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json');
CREATE TABLE e (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'parquet');
CREATE TABLE f (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'lookup', format = 'json')
-- error
