SET updating_ttl = 5
-- error
-- <cell>:1:20: expected an interval, but found 5
--   SET updating_ttl = 5
--                      ^
