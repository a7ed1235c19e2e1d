SELECT name->'a' = 'x' FROM trips;
SELECT (name->'a')::TIMESTAMP FROM trips;
SELECT place->>'city' FROM trips;
SELECT tags->0 FROM trips;
SELECT seats->'a' FROM trips;
SELECT name->fare FROM trips;
SELECT name->'a' || 'b' FROM trips;
SELECT name->'a' + 1 FROM trips;
SELECT json_get() FROM trips;
SELECT sum(name->'a') FROM trips
-- error
-- <cell>:1:8: Cannot infer common argument type for comparison operation =: JSON VALUE and TEXT
--   SELECT name->'a' = 'x' FROM trips;
--          ^^^^^^^^^^^^^^^
--   hint: write ->> in place of ->, which gives the text of a JSON value
-- <cell>:2:8: Unsupported CAST from JSON VALUE to TIMESTAMP
--   SELECT (name->'a')::TIMESTAMP FROM trips;
--          ^^^^^^^^^^^^^^^^^^^^^^
--   hint: cast its text, which ->> gives: CAST(j ->> 'a' AS TIMESTAMP)
-- <cell>:3:8: json_as_text() reads JSON, no lists and structs
--   SELECT place->>'city' FROM trips;
--          ^^^^^^^^^^^^^^
--   hint: write place.city
-- <cell>:4:8: json_get() reads JSON, no lists and structs
--   SELECT tags->0 FROM trips;
--          ^^^^^^^
--   hint: write tags[1]: elements are counted from 1
-- <cell>:5:8: json_get() does not take (INT, TEXT)
--   SELECT seats->'a' FROM trips;
--          ^^^^^^^^^^
--   hint: write json_get(JSON, [name or index], ...)
-- <cell>:6:8: json_get() does not take (TEXT, DOUBLE)
--   SELECT name->fare FROM trips;
--          ^^^^^^^^^^
--   hint: write json_get(JSON, [name or index], ...)
-- <cell>:7:8: Unsupported CAST from JSON VALUE to TEXT
--   SELECT name->'a' || 'b' FROM trips;
--          ^^^^^^^^^^^^^^^^
--   hint: write ->> for its text, or cast it: (j -> 'a')::INT
-- <cell>:8:14: Cannot coerce arithmetic expression TEXT + BIGINT to valid types
--   SELECT name->'a' + 1 FROM trips;
--                ^^^^^^^
--   hint: where 'a' is the key of an arrow, write (column -> 'a')::BIGINT + ...
-- <cell>:9:8: json_get() does not take ()
--   SELECT json_get() FROM trips;
--          ^^^^^^^^^^
--   hint: write json_get(JSON, [name or index], ...)
-- <cell>:10:8: sum() does not take JSON VALUE
--   SELECT sum(name->'a') FROM trips
--          ^^^^^^^^^^^^^^
--   hint: cast the argument of sum() to a number
