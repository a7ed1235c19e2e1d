INSERT INTO log SELECT DISTINCT id FROM clicks
-- error
-- <cell>:1:1: input is updating, but sink is not configured as an updating sink (hint: use `format = 'debezium_json'`)
--   INSERT INTO log SELECT DISTINCT id FROM clicks
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: the table 'log' has format = 'json'
