WITH a AS (SELECT id FROM trips), b AS (SELECT id FROM a), A AS (SELECT at FROM clicks) SELECT * FROM a;
WITH a AS (WITH a AS (SELECT id FROM trips) SELECT id FROM a) SELECT id FROM (WITH a AS (SELECT id FROM clicks) SELECT id FROM a)
-- error
-- <cell>:1:60: WITH query name "a" specified more than once
--   WITH a AS (SELECT id FROM trips), b AS (SELECT id FROM a), A AS (SELECT at FROM clicks) SELECT * FROM a;
--                                                              ^
--   hint: give each query of a WITH a name of its own
