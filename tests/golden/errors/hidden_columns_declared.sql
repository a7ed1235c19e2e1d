CREATE TABLE orders (id BIGINT, "_row_id" BIGINT) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'json');
CREATE TABLE kept (_weight DOUBLE) WITH (connector = 'stdout', format = 'json');
CREATE TEMPORARY TABLE zones (zone INT PRIMARY KEY, _found BOOLEAN) WITH (connector = 'single_file', path = '/data/zones.json', format = 'json');
CREATE TABLE clock (id BIGINT, _timestamp TIMESTAMP) WITH (connector = 'single_file', path = '/data/clock.json', type = 'source', format = 'json')
-- error
-- <cell>:1:33: '_row_id' is a hidden column
--   CREATE TABLE orders (id BIGINT, "_row_id" BIGINT) WITH (connector = 'single_file', path = '/data/orders.json', type = 'source', format = 'json');
--                                   ^^^^^^^^^
--   hint: give the column another name
-- <cell>:2:20: '_weight' is a hidden column
--   CREATE TABLE kept (_weight DOUBLE) WITH (connector = 'stdout', format = 'json');
--                      ^^^^^^^
--   hint: give the column another name
-- <cell>:3:53: '_found' is a hidden column
--   CREATE TEMPORARY TABLE zones (zone INT PRIMARY KEY, _found BOOLEAN) WITH (connector = 'single_file', path = '/data/zones.json', format = 'json');
--                                                       ^^^^^^
--   hint: give the column another name
-- <cell>:4:32: '_timestamp' is a hidden column
--   CREATE TABLE clock (id BIGINT, _timestamp TIMESTAMP) WITH (connector = 'single_file', path = '/data/clock.json', type = 'source', format = 'json')
--                                  ^^^^^^^^^^
--   hint: give the column another name
