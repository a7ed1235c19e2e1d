SELECT id FROM trips WHERE done > 1
-- error
-- <cell>:1:28: Cannot infer common argument type for comparison operation >: BOOLEAN and BIGINT
--   SELECT id FROM trips WHERE done > 1
--                              ^^^^^^^^
--   hint: write CAST(... AS TYPE), so that they have one type
