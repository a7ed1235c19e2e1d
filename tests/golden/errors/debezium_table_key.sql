CREATE TABLE orders (id BIGINT, at TIMESTAMP, PRIMARY KEY (id, at)) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
-- error
-- <cell>:1:60: Unsupported table constraint `PRIMARY KEY (id, at)`
--   CREATE TABLE orders (id BIGINT, at TIMESTAMP, PRIMARY KEY (id, at)) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
--                                                              ^^^^^^
--   hint: PRIMARY KEY stands after its column's type
-- <cell>:1:147: Failed to create table orders caused by Debezium source must have at least one PRIMARY KEY field
--   CREATE TABLE orders (id BIGINT, at TIMESTAMP, PRIMARY KEY (id, at)) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
--                                                                                                                                                     ^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write PRIMARY KEY after the type of the column that tells its rows apart
