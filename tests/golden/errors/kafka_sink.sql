CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 't', type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once', 'sink.key_field' = n)
-- error
