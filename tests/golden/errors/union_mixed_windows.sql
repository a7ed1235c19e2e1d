SELECT n FROM hourly UNION ALL SELECT id FROM clicks
-- error
-- <cell>:1:8: window expressions do not match: can't union tumble(3600s) with no window
--   SELECT n FROM hourly UNION ALL SELECT id FROM clicks
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
