SELECT name, count(*) AS _weight FROM trips GROUP BY name;
CREATE VIEW v AS SELECT id AS _WINDOW FROM trips;
SELECT s FROM (SELECT id AS s, at AS _watermark FROM clicks);
SELECT count(*) AS "_Weight" FROM trips;
SELECT id AS s FROM clicks UNION ALL SELECT id AS _seen FROM clicks;
CREATE VIEW w AS SELECT id AS _timestamp FROM clicks
-- error
-- <cell>:1:26: '_weight' is a hidden column
--   SELECT name, count(*) AS _weight FROM trips GROUP BY name;
--                            ^^^^^^^
--   hint: give the column another name
-- <cell>:2:31: '_window' is a hidden column
--   CREATE VIEW v AS SELECT id AS _WINDOW FROM trips;
--                                 ^^^^^^^
--   hint: give the column another name
-- <cell>:3:38: '_watermark' is a hidden column
--   SELECT s FROM (SELECT id AS s, at AS _watermark FROM clicks);
--                                        ^^^^^^^^^^
--   hint: give the column another name
-- <cell>:5:51: '_seen' is a hidden column
--   SELECT id AS s FROM clicks UNION ALL SELECT id AS _seen FROM clicks;
--                                                     ^^^^^
--   hint: give the column another name
-- <cell>:6:31: '_timestamp' is a hidden column
--   CREATE VIEW w AS SELECT id AS _timestamp FROM clicks
--                                 ^^^^^^^^^^
--   hint: give the column another name
