SELECT place.cty FROM trips
-- error
-- <cell>:1:14: field 'cty' not found
--   SELECT place.cty FROM trips
--                ^^^
--   hint: did you mean 'city'?
