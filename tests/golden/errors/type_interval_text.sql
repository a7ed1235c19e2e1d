SELECT at + INTERVAL '5 apples' FROM trips
-- error
-- <cell>:1:13: expected an interval, but found '5 apples'
--   SELECT at + INTERVAL '5 apples' FROM trips
--               ^^^^^^^^^^^^^^^^^^^
--   hint: write it as in INTERVAL '5 minutes'
