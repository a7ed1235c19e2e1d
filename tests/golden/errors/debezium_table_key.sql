CREATE TABLE orders (id BIGINT, at TIMESTAMP, PRIMARY KEY (id, at)) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
-- error
-- <cell>:1:60: Unsupported table constraint `PRIMARY KEY (id, at)`
--   CREATE TABLE orders (id BIGINT, at TIMESTAMP, PRIMARY KEY (id, at)) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json')
--                                                              ^^^^^^
--   hint: PRIMARY KEY stands after its column's type: id BIGINT PRIMARY KEY
