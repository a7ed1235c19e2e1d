CREATE TABLE orders (id BIGINT NOT NULL, fee DOUBLE) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
-- error
-- <cell>:1:132: Failed to create table orders caused by Debezium source must have at least one PRIMARY KEY field
--   CREATE TABLE orders (id BIGINT NOT NULL, fee DOUBLE) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
--                                                                                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write PRIMARY KEY after the type of the column that tells its rows apart
