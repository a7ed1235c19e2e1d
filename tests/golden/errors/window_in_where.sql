SELECT id FROM clicks WHERE hop(INTERVAL '1 second', INTERVAL '2 seconds') = 1
-- error
-- <cell>:1:29: Cannot infer common argument type for comparison operation =: STRUCT<start TIMESTAMP, end TIMESTAMP> and BIGINT
--   SELECT id FROM clicks WHERE hop(INTERVAL '1 second', INTERVAL '2 seconds') = 1
--                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: compare one field of the struct, as in w.start
