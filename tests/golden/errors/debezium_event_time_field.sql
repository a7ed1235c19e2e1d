CREATE TABLE orders (id BIGINT PRIMARY KEY, at TIMESTAMP) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json', event_time_field = at)
-- error
-- <cell>:1:163: Failed to create table orders caused by can't use event_time_field with update mode.
--   CREATE TABLE orders (id BIGINT PRIMARY KEY, at TIMESTAMP) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json', event_time_field = at)
--                                                                                                                                                                     ^^^^^^^^^^^^^^^^^^^^^
--   hint: remove it: the event time of a change is when it arrives
