SELECT DISTINCT ON (id) id, at FROM clicks
-- error
-- <cell>:1:21: SELECT DISTINCT ON is not supported
--   SELECT DISTINCT ON (id) id, at FROM clicks
--                       ^^
