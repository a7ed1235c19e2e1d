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
-- <cell>:1:144: Failed to create table t0 caused by invalid value for 'source.offset': `earlist`; expected one of 'latest' or 'earliest' or 'group'
--   CREATE TABLE t0 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.offset' = 'earlist');
--                                                                                                                                                  ^^^^^^^^^
--   hint: did you mean 'earliest'?
-- <cell>:2:126: Failed to create table t1 caused by source.offset = 'group' needs 'source.group_id'
--   CREATE TABLE t1 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.offset' = 'group');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write 'source.group_id' = '...': a run begins at the offsets that this group has committed
-- <cell>:3:154: Failed to create table t2 caused by at most one of 'source.start_timestamp' and 'source.offset' may be set
--   CREATE TABLE t2 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.offset' = 'latest', 'source.start_timestamp' = '2024-01-01');
--                                                                                                                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:4:126: Failed to create table t3 caused by invalid value for 'source.start_timestamp': `yesterday`; expected a time
--   CREATE TABLE t3 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.start_timestamp' = 'yesterday');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write one like '2024-02-08T12:00:00Z'
-- <cell>:5:126: Failed to create table t4 caused by invalid value for 'source.start_offsets': `0=5`; expected a partition and an offset, as in '0:1200, 1:900'
--   CREATE TABLE t4 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.start_offsets' = '0=5');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:6:151: Failed to create table t5 caused by at most one of 'source.group_id' and 'source.group_id_prefix' may be set
--   CREATE TABLE t5 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.group_id' = 'a', 'source.group_id_prefix' = 'b');
--                                                                                                                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:7:147: Failed to create table t6 caused by invalid value for 'source.read_mode': `committed`; expected one of 'read_uncommitted' or 'read_committed'
--   CREATE TABLE t6 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.read_mode' = 'committed');
--                                                                                                                                                     ^^^^^^^^^^^
--   hint: did you mean 'read_committed'?
-- <cell>:8:126: Failed to create table t7 caused by unknown options provided in WITH clause: 'source.ofset'
--   CREATE TABLE t7 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'source.ofset' = 'latest');
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: did you mean 'source.offset'?
-- <cell>:9:126: Failed to create table t8 caused by unknown options provided in WITH clause: 'sink.commit_mode'
--   CREATE TABLE t8 (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'source', format = 'json', 'sink.commit_mode' = 'exactly_once')
--                                                                                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: remove it: only a sink has 'sink.commit_mode'
