CREATE TABLE u (a TEXT[], b TEXT GENERATED ALWAYS AS (unnest(a))) WITH (connector = 'single_file', path = '/u', type = 'source', format = 'json')
-- error
-- <cell>:1:55: unnest is only supported in SELECT statements, as an item of the select list
--   CREATE TABLE u (a TEXT[], b TEXT GENERATED ALWAYS AS (unnest(a))) WITH (connector = 'single_file', path = '/u', type = 'source', format = 'json')
--                                                         ^^^^^^^^^
--   hint: unnest in a subquery, and use its name outside
