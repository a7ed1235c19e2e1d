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
