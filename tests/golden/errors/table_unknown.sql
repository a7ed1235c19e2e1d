SELECT * FROM flihgts
-- error
-- <cell>:1:15: Table flihgts not found
--   SELECT * FROM flihgts
--                 ^^^^^^^
--   hint: did you mean 'flights'?
