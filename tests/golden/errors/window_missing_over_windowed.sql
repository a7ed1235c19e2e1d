-- strict
SELECT name, max(n) AS top FROM hourly GROUP BY name
-- error
-- <cell>:2:8: must have window in aggregate. Make sure you are calling one of the windowing functions (hop, tumble, session) or using the window field of the input
--   SELECT name, max(n) AS top FROM hourly GROUP BY name
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
