SELECT id FROM trips UNION ALL SELECT at FROM trips
-- error
-- <cell>:1:8: Incompatible inputs for Union: column 'id' has the types BIGINT and TIMESTAMP
--   SELECT id FROM trips UNION ALL SELECT at FROM trips
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
