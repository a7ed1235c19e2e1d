SELECT uper(name) FROM trips
-- error
-- <cell>:1:8: Invalid function 'uper'
--   SELECT uper(name) FROM trips
--          ^^^^^^^^^^
--   hint: did you mean 'upper'?
