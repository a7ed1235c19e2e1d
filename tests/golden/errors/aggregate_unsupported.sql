SELECT median(fare), array_agg(name) FROM trips GROUP BY tumble('1 minute')
-- error
-- <cell>:1:8: the aggregate median() is not supported yet
--   SELECT median(fare), array_agg(name) FROM trips GROUP BY tumble('1 minute')
--          ^^^^^^^^^^^^
--   hint: supported: avg, count, max, min, sum
-- <cell>:1:22: the aggregate array_agg() is not supported yet
--   SELECT median(fare), array_agg(name) FROM trips GROUP BY tumble('1 minute')
--                        ^^^^^^^^^^^^^^^
--   hint: supported: avg, count, max, min, sum
