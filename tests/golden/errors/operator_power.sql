SELECT id ^ 2 FROM clicks
-- error
-- <cell>:1:8: the operator ^ is not supported
--   SELECT id ^ 2 FROM clicks
--          ^^^^^^
--   hint: write power(x, y)
