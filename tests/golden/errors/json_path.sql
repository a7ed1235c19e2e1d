SELECT extract_json(name, '$.a[?@.b > 1]') FROM trips;
SELECT extract_json(name, '$..a') FROM trips;
SELECT extract_json(name, 'a.b') FROM trips;
SELECT extract_json_string(name, name) FROM trips;
SELECT get_first_json_object(name, '$.a[') FROM trips;
SELECT extract_json(seats, '$') FROM trips
-- error
-- <cell>:1:27: a filter in a JSONPath is not supported
--   SELECT extract_json(name, '$.a[?@.b > 1]') FROM trips;
--                             ^^^^^^^^^^^^^^^
--   hint: name each step, make rows with unnest(extract_json(j, '$.list[*]')), and filter them with WHERE
-- <cell>:2:27: '..' in a JSONPath is not supported
--   SELECT extract_json(name, '$..a') FROM trips;
--                             ^^^^^^
--   hint: name each step, make rows with unnest(extract_json(j, '$.list[*]')), and filter them with WHERE
-- <cell>:3:27: 'a.b' is not a JSONPath: it begins with $
--   SELECT extract_json(name, 'a.b') FROM trips;
--                             ^^^^^
--   hint: write $.name, $['name'], $.list[0] or $.list[*]
-- <cell>:4:34: the path must be a literal
--   SELECT extract_json_string(name, name) FROM trips;
--                                    ^^^^
--   hint: write it as '$.name'
-- <cell>:5:36: '$.a[' is not a JSONPath: a bracket holds a name in quotes, an index, or *
--   SELECT get_first_json_object(name, '$.a[') FROM trips;
--                                      ^^^^^^
--   hint: write $.name, $['name'], $.list[0] or $.list[*]
-- <cell>:6:8: extract_json() does not take (INT, TEXT)
--   SELECT extract_json(seats, '$') FROM trips
--          ^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write extract_json(JSON, TEXT)
