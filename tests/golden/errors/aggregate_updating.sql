SELECT name, count(*) FROM trips GROUP BY name
-- error
-- <cell>:1:8: updating aggregates are not supported yet: this one has no window
--   SELECT name, count(*) FROM trips GROUP BY name
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: add tumble(...), hop(...) or session(...) to GROUP BY
