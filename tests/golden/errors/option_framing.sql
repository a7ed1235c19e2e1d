CREATE TABLE a (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json', framing = 'newline', idle_micros = 5);
CREATE TABLE b (a INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'json', framing = 'netstring');
CREATE TABLE c (a INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'json', 'framing.newline.max_length' = 5);
CREATE TABLE d (a INT PRIMARY KEY) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'debezium_json', framing = 'newline');
CREATE TABLE e (a INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'json', framing = 'newline', 'framing.newline.max_length' = -5, idle_micros = 'long')
-- error
-- <cell>:2:136: Failed to create table b caused by Unknown framing method 'netstring'
--   CREATE TABLE b (a INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'json', framing = 'netstring');
--                                                                                                                                          ^^^^^^^^^^^^^^^^^^^^^
--   hint: write framing = 'newline' or framing = 'length'
-- <cell>:3:136: Failed to create table c caused by 'framing.newline.max_length' is only of use with framing = 'newline'
--   CREATE TABLE c (a INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'json', 'framing.newline.max_length' = 5);
--                                                                                                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: add framing = 'newline', or remove it
-- <cell>:4:157: Failed to create table d caused by a message of the format 'debezium_json' is one change: it takes no framing
--   CREATE TABLE d (a INT PRIMARY KEY) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'debezium_json', framing = 'newline');
--                                                                                                                                                               ^^^^^^^^^^^^^^^^^^^
--   hint: remove it
-- <cell>:5:189: Failed to create table e caused by expected with option 'framing.newline.max_length' to be an unsigned integer, but it was `-5`
--   … e (a INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'json', framing = 'newline', 'framing.newline.max_length' = -5, idle_micros = 'long')
--                                                                                                                                                                                    ^
-- <cell>:5:206: Failed to create table e caused by expected with option 'idle_micros' to be an integer, but it was `'long'`
--   … e (a INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = 'localhost:9092', type = 'source', format = 'json', framing = 'newline', 'framing.newline.max_length' = -5, idle_micros = 'long')
--                                                                                                                                                                                                     ^^^^^^
