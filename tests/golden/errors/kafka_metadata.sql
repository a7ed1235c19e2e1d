CREATE TABLE a (n INT, o BIGINT METADATA FROM 'offset') WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json');
CREATE TABLE b (n INT, k TEXT METADATA FROM 'key') WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json')
-- error
-- <cell>:1:24: unknown metadata field 'offset' for a connector 'kafka'
--   CREATE TABLE a (n INT, o BIGINT METADATA FROM 'offset') WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json');
--                          ^^^^^^^^
--   hint: did you mean 'offset_id'?
-- <cell>:2:26: incorrect data type for metadata field 'key'; expected BYTEA, but found TEXT
--   CREATE TABLE b (n INT, k TEXT METADATA FROM 'key') WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json')
--                            ^^^^
--   hint: write k BYTEA METADATA FROM 'key'
