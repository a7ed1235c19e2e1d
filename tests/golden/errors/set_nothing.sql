SET; SELECT id FROM trips
-- error
-- <cell>:1:1: syntax error at the end of the statement: expected an option
--   SET; SELECT id FROM trips
--   ^^^
