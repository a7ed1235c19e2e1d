SELECT sum(count(*)) FROM trips GROUP BY tumble('1 minute')
-- error
-- <cell>:1:8: aggregates cannot be nested: sum() of an aggregate
--   SELECT sum(count(*)) FROM trips GROUP BY tumble('1 minute')
--          ^^^^^^^^^^^^^
