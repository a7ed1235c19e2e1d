-- strict
SELECT c.id FROM (SELECT DISTINCT id FROM trips) AS t JOIN clicks AS c ON c.id = t.id
-- error
-- <cell>:2:60: can't handle updating left side of join
--   SELECT c.id FROM (SELECT DISTINCT id FROM trips) AS t JOIN clicks AS c ON c.id = t.id
--                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
