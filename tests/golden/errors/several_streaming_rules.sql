SELECT count(*) FROM clicks;
SELECT name, max(n) AS top FROM hourly GROUP BY name
-- error
-- <cell>:1:8: updating aggregates are not supported yet: this one has no window
--   SELECT count(*) FROM clicks;
--          ^^^^^^^^^^^^^^^^^^^^
--   hint: add tumble(...), hop(...) or session(...) to GROUP BY
-- <cell>:2:8: must have window in aggregate. Make sure you are calling one of the windowing functions (hop, tumble, session) or using the window field of the input
--   SELECT name, max(n) AS top FROM hourly GROUP BY name
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
