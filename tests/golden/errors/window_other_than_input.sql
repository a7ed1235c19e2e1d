SELECT tumble('2 hours') AS w, sum(n) AS n FROM hourly GROUP BY w
-- error
-- <cell>:1:8: window in group by does not match input window
--   SELECT tumble('2 hours') AS w, sum(n) AS n FROM hourly GROUP BY w
--          ^^^^^^^^^^^^^^^^^
--   hint: the input has the window tumble(3600s): GROUP BY its column, or use the other window in the input
