CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'raw_string');
CREATE TABLE b (value TEXT, n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'raw_bytes');
CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'json.include_schema' = true, 'json.confluent_schema_registry' = true);
CREATE TABLE d (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'debezium_json');
CREATE TABLE e (n INT) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'json', 'json.include_schema' = true);
CREATE TABLE f (n INT) WITH (connector = 'single_file', path = '/x', type = 'source', format = 'raw_string')
-- error
