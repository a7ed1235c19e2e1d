-- strict
SELECT c.id FROM clicks AS c JOIN (SELECT DISTINCT id FROM trips) AS t ON c.id = t.id
-- error
-- <cell>:2:52: can't handle updating right side of join
--   SELECT c.id FROM clicks AS c JOIN (SELECT DISTINCT id FROM trips) AS t ON c.id = t.id
--                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
