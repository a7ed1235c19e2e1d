INSERT INTO totals (city) SELECT name FROM trips
-- error
-- <cell>:1:13: column 'total' is NOT NULL, but the insert does not fill it
--   INSERT INTO totals (city) SELECT name FROM trips
--               ^^^^^^
