SELECT place FROM trips UNION ALL SELECT tags FROM trips
-- error
-- <cell>:1:8: Incompatible inputs for Union: column 'place' has the types STRUCT<city TEXT, at STRUCT<lat DOUBLE, lon DOUBLE>> and TEXT[]
--   SELECT place FROM trips UNION ALL SELECT tags FROM trips
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
