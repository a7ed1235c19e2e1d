SELECT sum(name) FROM trips GROUP BY tumble('1 minute')
-- error
-- <cell>:1:8: sum() does not take TEXT
--   SELECT sum(name) FROM trips GROUP BY tumble('1 minute')
--          ^^^^^^^^^
--   hint: cast the argument of sum() to a number
