-- strict
SELECT a.id FROM clicks AS a LEFT JOIN trips AS b ON a.id = b.id WHERE b.seats = 4 OR a.id > 5;
SELECT id FROM (SELECT a.id, b.seats, coalesce(b.name, 'x') AS name FROM clicks AS a LEFT JOIN trips AS b ON a.id = b.id) AS q WHERE name = 'y' AND id > 1
-- error
-- <cell>:2:40: can't handle non-inner joins without windows
--   SELECT a.id FROM clicks AS a LEFT JOIN trips AS b ON a.id = b.id WHERE b.seats = 4 OR a.id > 5;
--                                          ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
-- <cell>:3:96: can't handle non-inner joins without windows
--   SELECT id FROM (SELECT a.id, b.seats, coalesce(b.name, 'x') AS name FROM clicks AS a LEFT JOIN trips AS b ON a.id = b.id) AS q WHERE name = 'y' AND id > 1
--                                                                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
