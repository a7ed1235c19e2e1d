SELECT tumble('0 seconds') AS w, count(*) AS n FROM trips GROUP BY 1
-- error
-- <cell>:1:15: the duration of a window must be longer than zero
--   SELECT tumble('0 seconds') AS w, count(*) AS n FROM trips GROUP BY 1
--                 ^^^^^^^^^^^
--   hint: write how long it is, as in INTERVAL '1 minute'
