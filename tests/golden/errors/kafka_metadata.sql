CREATE TABLE a (n INT, o BIGINT METADATA FROM 'offset') WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json');
CREATE TABLE b (n INT, k TEXT METADATA FROM 'key') WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json')
-- error
