SELECT place::INT FROM trips
-- error
-- <cell>:1:8: Unsupported CAST from STRUCT<city TEXT, at STRUCT<lat DOUBLE, lon DOUBLE>> to INT
--   SELECT place::INT FROM trips
--          ^^^^^^^^^^
