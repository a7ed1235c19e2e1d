SELECT name + 1 FROM trips;
SELECT -array_length(tags) AS s, count(*) FROM trips GROUP BY 1;
SELECT -CAST(seats AS INT UNSIGNED), -done FROM trips
-- error
-- <cell>:1:8: Cannot coerce arithmetic expression TEXT + BIGINT to valid types
--   SELECT name + 1 FROM trips;
--          ^^^^^^^^
--   hint: join texts with ||, or write CAST(name AS BIGINT) where the text is a number
-- <cell>:2:9: Negation only supports signed numbers, not BIGINT UNSIGNED
--   SELECT -array_length(tags) AS s, count(*) FROM trips GROUP BY 1;
--           ^^^^^^^^^^^^^^^^^^
--   hint: cast it to BIGINT first
-- <cell>:3:9: Negation only supports signed numbers, not INT UNSIGNED
--   SELECT -CAST(seats AS INT UNSIGNED), -done FROM trips
--           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: cast it to BIGINT first
-- <cell>:3:39: Negation only supports numeric, not BOOLEAN
--   SELECT -CAST(seats AS INT UNSIGNED), -done FROM trips
--                                         ^^^^
