-- strict
SELECT name, row_number() OVER (PARTITION BY name ORDER BY n DESC) AS place FROM hourly
-- error
-- <cell>:2:14: Window function requires exactly one window expression in partition_by
--   SELECT name, row_number() OVER (PARTITION BY name ORDER BY n DESC) AS place FROM hourly
--                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
