CREATE TABLE m (id BIGINT, city TEXT);
CREATE TABLE k (id BIGINT NOT NULL, city TEXT);
CREATE TABLE w (at TIMESTAMP);
INSERT INTO m SELECT id, name FROM trips;
INSERT INTO m SELECT id, name FROM trips;
INSERT INTO k (city) SELECT name FROM trips;
INSERT INTO w SELECT id FROM trips;
INSERT INTO w SELECT nope FROM trips;
SELECT towns FROM m;
SELECT id FROM k
-- error
-- <cell>:5:13: Can only insert into a memory table once
--   INSERT INTO m SELECT id, name FROM trips;
--               ^
--   hint: write one INSERT of the queries with UNION ALL; in a later cell declare it again first: CREATE TABLE m (...)
-- <cell>:6:13: column 'id' is NOT NULL, but the insert does not fill it
--   INSERT INTO k (city) SELECT name FROM trips;
--               ^
-- <cell>:8:22: column 'nope' not found
--   INSERT INTO w SELECT nope FROM trips;
--                        ^^^^
--   hint: known: at, done, fare, id, name, place, price, ratio, seats, tags, userId
-- <cell>:9:8: column 'towns' not found
--   SELECT towns FROM m;
--          ^^^^^
--   hint: known: city, id
