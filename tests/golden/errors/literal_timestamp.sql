SELECT TIMESTAMP 'x' AS a FROM trips
-- error
-- <cell>:1:18: 'x' is not a valid TIMESTAMP
--   SELECT TIMESTAMP 'x' AS a FROM trips
--                    ^^^
--   hint: write it as in '2024-01-31 12:30:00'
