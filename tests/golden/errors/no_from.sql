SELECT 1
-- error
-- <cell>:1:8: No timestamp field found in projection input: a SELECT needs a FROM
--   SELECT 1
--          ^
