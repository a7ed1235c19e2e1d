SELECT count(DISTINCT *) FROM clicks GROUP BY tumble('1 s')
-- error
-- <cell>:1:8: count(DISTINCT) takes one argument
--   SELECT count(DISTINCT *) FROM clicks GROUP BY tumble('1 s')
--          ^^^^^^^^^^^^^^^^^
