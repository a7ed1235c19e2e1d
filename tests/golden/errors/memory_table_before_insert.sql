CREATE TABLE m (id BIGINT, city TEXT);
CREATE VIEW v AS SELECT id FROM m;
SELECT id FROM m;
INSERT INTO m SELECT id, name FROM trips;
SELECT city FROM m;
-- error
-- <cell>:2:33: Can't query from memory table m without first inserting into it.
--   CREATE VIEW v AS SELECT id FROM m;
--                                   ^
--   hint: write INSERT INTO m SELECT ... before this query
-- <cell>:3:16: Can't query from memory table m without first inserting into it.
--   SELECT id FROM m;
--                  ^
--   hint: write INSERT INTO m SELECT ... before this query
