SELECT count(*) FROM clicks GROUP BY 2
-- error
-- <cell>:1:38: Cannot find column with position 2 in SELECT clause. Valid columns: 1 to 1
--   SELECT count(*) FROM clicks GROUP BY 2
--                                        ^
