SELECT nme FROM trips
-- error
-- <cell>:1:8: column 'nme' not found
--   SELECT nme FROM trips
--          ^^^
--   hint: did you mean 'name'?
