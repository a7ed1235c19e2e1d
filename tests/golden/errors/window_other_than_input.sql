SELECT tumble('2 hours') AS w, sum(n) AS n FROM hourly GROUP BY w
-- error
-- <cell>:1:8: window in group by does not match input window
--   SELECT tumble('2 hours') AS w, sum(n) AS n FROM hourly GROUP BY w
--          ^^^^^^^^^^^^^^^^^
--   hint: the input is windowed by tumble(3600s)
