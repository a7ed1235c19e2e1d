CREATE TABLE orders (id BIGINT PRIMARY KEY, _weight DOUBLE) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
-- error
-- <cell>:1:45: '_weight' is a hidden column
--   CREATE TABLE orders (id BIGINT PRIMARY KEY, _weight DOUBLE) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
--                                               ^^^^^^^
--   hint: give the column another name
