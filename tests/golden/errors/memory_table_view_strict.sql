-- strict
CREATE TABLE m (id BIGINT, city TEXT);
INSERT INTO m SELECT id, name FROM trips;
CREATE VIEW v AS SELECT id FROM m;
SELECT id FROM v
-- error
-- <cell>:4:13: Can't query from memory table m without first inserting into it.
--   CREATE VIEW v AS SELECT id FROM m;
--               ^
--   hint: read m in the queries themselves: a view of a memory table runs without the strict option
