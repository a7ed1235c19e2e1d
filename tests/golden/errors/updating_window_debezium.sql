CREATE TABLE orders (id BIGINT PRIMARY KEY, fee DOUBLE) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'debezium_json');
SELECT sum(fee) AS fees FROM orders GROUP BY tumble('1 minute')
-- error
-- <cell>:2:8: a window aggregate over an updating input is not supported yet: rows that are taken back would have to leave their windows
--   SELECT sum(fee) AS fees FROM orders GROUP BY tumble('1 minute')
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by the window first, then without it
