-- strict
INSERT INTO hole SELECT id, count(*) AS n FROM clicks GROUP BY id
-- error
-- <cell>:2:1: input is updating, but sink is not configured as an updating sink
--   INSERT INTO hole SELECT id, count(*) AS n FROM clicks GROUP BY id
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
