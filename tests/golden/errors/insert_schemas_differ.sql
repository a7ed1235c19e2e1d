INSERT INTO log SELECT id FROM clicks;
INSERT INTO log SELECT id FROM trips;
INSERT INTO log SELECT at FROM clicks
-- error
-- <cell>:3:13: all inserts into a table must share the same schema: (id BIGINT) is not (at TIMESTAMP)
--   INSERT INTO log SELECT at FROM clicks
--               ^^^
