CREATE TABLE t0 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.offset' = 'earlist');
CREATE TABLE t1 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.offset' = 'group');
CREATE TABLE t2 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.offset' = 'latest', 'source.start_timestamp' = '2024-01-01');
CREATE TABLE t3 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.start_timestamp' = 'yesterday');
CREATE TABLE t4 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.start_offsets' = '0=5');
CREATE TABLE t5 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.group_id' = 'a', 'source.group_id_prefix' = 'b');
CREATE TABLE t6 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.read_mode' = 'committed');
CREATE TABLE t7 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.ofset' = 'latest');
CREATE TABLE t8 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'sink.commit_mode' = 'exactly_once')
-- error
