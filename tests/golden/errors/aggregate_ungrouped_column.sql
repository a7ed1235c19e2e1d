SELECT name, seats, count(*) FROM trips GROUP BY tumble('1 minute'), name
-- error
-- <cell>:1:14: Column in SELECT must be in GROUP BY or an aggregate function: 'trips.seats' must appear in the GROUP BY clause or must be part of an aggregate function
--   SELECT name, seats, count(*) FROM trips GROUP BY tumble('1 minute'), name
--                ^^^^^
--   hint: add seats to GROUP BY, or aggregate it
