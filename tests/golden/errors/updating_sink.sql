INSERT INTO totals SELECT name, sum(fare), count(*) FROM trips GROUP BY name
-- error
-- <cell>:1:1: input is updating, but sink is not configured as an updating sink (hint: use `format = 'debezium_json'`)
--   INSERT INTO totals SELECT name, sum(fare), count(*) FROM trips GROUP BY name
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: the table 'totals' has format = 'json'
