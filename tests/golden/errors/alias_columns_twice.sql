SELECT p FROM clicks AS c (p, p)
-- error
-- <cell>:1:31: the relation 'c' has two columns 'p'
--   SELECT p FROM clicks AS c (p, p)
--                                 ^
--   hint: name each column: c (a, b, ...)
