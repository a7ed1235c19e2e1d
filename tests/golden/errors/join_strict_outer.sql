-- strict
SELECT c.id FROM clicks AS c LEFT JOIN (SELECT DISTINCT id FROM trips) AS t ON c.id = t.id
-- error
-- <cell>:2:57: can't handle non-inner joins without windows
--   SELECT c.id FROM clicks AS c LEFT JOIN (SELECT DISTINCT id FROM trips) AS t ON c.id = t.id
--                                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
