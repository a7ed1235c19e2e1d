DROP TABLE clicks
-- error
-- <cell>:1:1: Unsupported statement: DROP
--   DROP TABLE clicks
--   ^^^^
