SELECT id FROM trips WHERE done AND seats
-- error
-- <cell>:1:37: Cannot infer common argument type for logical boolean operation AND: the operand is INT, not BOOLEAN
--   SELECT id FROM trips WHERE done AND seats
--                                       ^^^^^
