-- strict
SELECT id FROM clicks UNION ALL SELECT count(*) AS n FROM clicks
-- error
-- <cell>:2:8: can't union updating with append-only branches: their schemas differ by _updating_meta
--   SELECT id FROM clicks UNION ALL SELECT count(*) AS n FROM clicks
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
