SELECT count(*) FROM trips
-- error
-- <cell>:1:8: updating aggregates are not supported yet: this one has no window
--   SELECT count(*) FROM trips
--          ^^^^^^^^^^^^^^^^^^^
--   hint: add tumble(...), hop(...) or session(...) to GROUP BY
