CREATE FUNCTION f(a INT) AS 'x'
-- error
-- <cell>:1:1: Unsupported statement: CREATE FUNCTION
--   CREATE FUNCTION f(a INT) AS 'x'
--   ^^^^^^
