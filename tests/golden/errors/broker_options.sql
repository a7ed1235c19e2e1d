CREATE TABLE a (n INT) WITH (connector = 'mqtt', url = 'http://h', topic = 't', type = 'source', format = 'json');
CREATE TABLE b (n INT) WITH (connector = 'mqtt', url = 'mqtt://ann:secret@h', topic = 't', type = 'source', format = 'json');
CREATE TABLE c (n INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 'rooms/#/t', type = 'source', format = 'json');
CREATE TABLE d (n INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 'rooms/+', type = 'sink', format = 'json');
CREATE TABLE e (n INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 't', type = 'sink', format = 'json', 'sink.retain' = 'always');
CREATE TABLE f (n INT, place TEXT METADATA FROM 'topic') WITH (connector = 'mqtt', url = 'mqtt://h', topic = 't', type = 'sink', format = 'json');
CREATE TABLE g (n INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 't', type = 'sink', format = 'json', 'json.confluent_schema_registry' = true);
CREATE TABLE h (n INT) WITH (connector = 'mqtt', url = 'mqtts://h', topic = 't', type = 'source', format = 'json', 'tls.key' = 'k.pem');
CREATE TABLE i (n INT) WITH (connector = 'nats', servers = 'nats://ann:secret@h', subject = 's', type = 'source', format = 'json');
CREATE TABLE j (n INT) WITH (connector = 'nats', servers = 'http://h', subject = 's', type = 'source', format = 'json');
CREATE TABLE k (n INT) WITH (connector = 'nats', servers = 'h', subject = 's.*', type = 'sink', format = 'json');
CREATE TABLE l (n INT) WITH (connector = 'nats', servers = 'h', stream = 's', type = 'source', format = 'json', 'consumer.ack_policy' = 'Never');
CREATE TABLE m (n INT) WITH (connector = 'redis', address = 'redis://h', type = 'sink', format = 'json', target = 'string');
CREATE TABLE n (n INT) WITH (connector = 'redis', address = 'redis://h', type = 'sink', format = 'json', target = 'string', 'target.key_prefix' = '', 'target.key_column' = 'n');
CREATE TABLE o (n INT) WITH (connector = 'redis', address = 'redis://h', type = 'sink', format = 'json', target = 'hash', 'target.key_prefix' = '', 'target.ttl_secs' = 3);
CREATE TABLE p (n INT) WITH (connector = 'nats', servers = 'h', subject = 's', type = 'sink', format = 'json', 'auth.type' = 'jwt', 'auth.jwt' = 'ejSECRET')
-- error
-- <cell>:1:50: Failed to create table a caused by 'url' is not the URL of an MQTT broker
--   CREATE TABLE a (n INT) WITH (connector = 'mqtt', url = 'http://h', topic = 't', type = 'source', format = 'json');
--                                                    ^^^^^^^^^^^^^^^^
--   hint: write mqtt://host:port, or mqtts:// for TLS
-- <cell>:2:50: Failed to create table b caused by 'url' has a login in it
--   CREATE TABLE b (n INT) WITH (connector = 'mqtt', url = 'mqtt://**********@h', topic = 't', type = 'source', format = 'json');
--                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write username and password as options, best as '{{ VARIABLE }}'
-- <cell>:3:68: Failed to create table c caused by the topic 'rooms/#/t' has a wildcard that is no level of its own, or a # that is not the last one
--   CREATE TABLE c (n INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 'rooms/#/t', type = 'source', format = 'json');
--                                                                      ^^^^^^^^^^^^^^^^^^^
--   hint: write 'rooms/+/temperature', or 'rooms/#'
-- <cell>:4:68: Failed to create table d caused by the topic 'rooms/+' has a wildcard: a sink writes to one topic
--   CREATE TABLE d (n INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 'rooms/+', type = 'sink', format = 'json');
--                                                                      ^^^^^^^^^^^^^^^^^
-- <cell>:5:129: Failed to create table e caused by invalid value for 'sink.retain': `always`; expected one of 'true' or 'false'
--   CREATE TABLE e (n INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 't', type = 'sink', format = 'json', 'sink.retain' = 'always');
--                                                                                                                                   ^^^^^^^^
--   hint: known: false, true
-- <cell>:6:115: Failed to create table f caused by 'place' is METADATA FROM 'topic', which only a record that is read has
--   CREATE TABLE f (n INT, place TEXT METADATA FROM 'topic') WITH (connector = 'mqtt', url = 'mqtt://h', topic = 't', type = 'sink', format = 'json');
--                                                                                                                     ^^^^^^^^^^^^^
--   hint: declare 'place' without METADATA
-- <cell>:7:113: Failed to create table g caused by only a sink of a topic of Kafka registers the schema of its records
--   CREATE TABLE g (n INT) WITH (connector = 'mqtt', url = 'mqtt://h', topic = 't', type = 'sink', format = 'json', 'json.confluent_schema_registry' = true);
--                                                                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: remove 'json.confluent_schema_registry'
-- <cell>:8:116: Failed to create table h caused by required option 'tls.cert' not set
--   CREATE TABLE h (n INT) WITH (connector = 'mqtt', url = 'mqtts://h', topic = 't', type = 'source', format = 'json', 'tls.key' = 'k.pem'**
--                                                                                                                      ^^^^^^^^^^^^^^^^^^^
-- <cell>:9:50: Failed to create table i caused by the address 'nats://h' has a login in it
--   *****************************************'nats', servers = 'nats://**********@h', subject = 's', type = 'source', format = 'json');
--                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write 'auth.type' = 'credentials' with 'auth.username' and 'auth.password'
-- <cell>:10:50: Failed to create table j caused by the address 'http://h' is not one of NATS
--   CREATE TABLE j (n INT) WITH (connector = 'nats', servers = 'http://h', subject = 's', type = 'source', format = 'json');
--                                                    ^^^^^^^^^^^^^^^^^^^^
--   hint: write host:4222, or tls://host:4222, with commas between
-- <cell>:11:65: Failed to create table k caused by the subject 's.*' has a wildcard: a sink writes to one
--   CREATE TABLE k (n INT) WITH (connector = 'nats', servers = 'h', subject = 's.*', type = 'sink', format = 'json');
--                                                                   ^^^^^^^^^^^^^^^
-- <cell>:12:137: Failed to create table l caused by invalid value for 'consumer.ack_policy': `Never`; expected one of 'Explicit' or 'All' or 'None'
--   CREATE TABLE l (n INT) WITH (connector = 'nats', servers = 'h', stream = 's', type = 'source', format = 'json', 'consumer.ack_policy' = 'Never');
--                                                                                                                                           ^^^^^^^
--   hint: known: All, Explicit, None
-- <cell>:13:14: Failed to create table m caused by required option 'target.key_prefix' not set
--   CREATE TABLE m (n INT) WITH (connector = 'redis', address = 'redis://h', type = 'sink', format = 'json', target = 'string');
--                ^
-- <cell>:14:151: Failed to create table n caused by invalid value 'n' for target.key_column, must be the name of a non-nullable TEXT column on the table
--   CREATE TABLE n (n INT) WITH (connector = 'redis', address = 'redis://h', type = 'sink', format = 'json', target = 'string', 'target.key_prefix' = '', 'target.key_column' = 'n');
--                                                                                                                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: declare it: n TEXT NOT NULL
-- <cell>:15:106: Failed to create table o caused by required option 'target.field_column' not set
--   CREATE TABLE o (n INT) WITH (connector = 'redis', address = 'redis://h', type = 'sink', format = 'json', target = 'hash', 'target.key_prefix' = '', 'target.ttl_secs' = 3);
--                                                                                                            ^^^^^^^^^^^^^^^
-- <cell>:15:149: Failed to create table o caused by 'target.ttl_secs' is only for target = 'string'
--   CREATE TABLE o (n INT) WITH (connector = 'redis', address = 'redis://h', type = 'sink', format = 'json', target = 'hash', 'target.key_prefix' = '', 'target.ttl_secs' = 3);
--                                                                                                                                                       ^^^^^^^^^^^^^^^^^^^^^
--   hint: remove 'target.ttl_secs'
-- <cell>:16:112: Failed to create table p caused by required option 'auth.nkey_seed' not set
--   CREATE TABLE p (n INT) WITH (connector = 'nats', servers = 'h', subject = 's', type = 'sink', format = 'json', 'auth.type' = 'jwt', 'auth.jwt' = '********')
--                                                                                                                  ^^^^^^^^^^^^^^^^^^^
