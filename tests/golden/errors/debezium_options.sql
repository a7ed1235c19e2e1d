CREATE TABLE orders (id BIGINT) WITH (connector = 'stdout', format = 'debezium_json', 'json.decimal_encoding' = 'hex')
-- error
-- <cell>:1:113: Failed to create table orders caused by invalid value for 'json.decimal_encoding': `hex`; expected one of 'number' or 'string' or 'bytes'
--   CREATE TABLE orders (id BIGINT) WITH (connector = 'stdout', format = 'debezium_json', 'json.decimal_encoding' = 'hex')
--                                                                                                                   ^^^^^
--   hint: known: bytes, number, string
