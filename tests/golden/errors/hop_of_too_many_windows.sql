SELECT hop('1 millisecond', '1 hour') AS w, count(*) AS n FROM trips GROUP BY w
-- error
-- <cell>:1:8: a row would be in 3,600,000 windows of hop(), more than 1,000: Spark plans each of them by itself
--   SELECT hop('1 millisecond', '1 hour') AS w, count(*) AS n FROM trips GROUP BY w
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: choose a longer slide
