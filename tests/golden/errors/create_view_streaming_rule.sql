CREATE VIEW v AS SELECT count(*) FROM clicks
-- error
-- <cell>:1:25: updating aggregates are not supported yet: this one has no window
--   CREATE VIEW v AS SELECT count(*) FROM clicks
--                           ^^^^^^^^^^^^^^^^^^^^
--   hint: add tumble(...), hop(...) or session(...) to GROUP BY
