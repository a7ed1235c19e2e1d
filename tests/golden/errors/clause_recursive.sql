WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a
-- error
-- <cell>:1:16: Recursive CTEs are not supported
--   WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a
--                  ^^^^^^^^^^^^^^
