SELECT DISTINCT id FROM clicks
-- error
-- <cell>:1:17: SELECT DISTINCT is an updating aggregate, which is not supported yet
--   SELECT DISTINCT id FROM clicks
--                   ^^^^^^^^^^^^^^
