SELECT CASE WHEN done THEN 1 ELSE at END FROM trips
-- error
-- <cell>:1:8: Cannot infer common argument type for CASE: TIMESTAMP and BIGINT
--   SELECT CASE WHEN done THEN 1 ELSE at END FROM trips
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write CAST(... AS TYPE), so that they have one type
