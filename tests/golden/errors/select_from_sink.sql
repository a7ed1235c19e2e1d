SELECT * FROM totals
-- error
-- <cell>:1:15: attempted to read from table 'totals', but it is a sink
--   SELECT * FROM totals
--                 ^^^^^^
