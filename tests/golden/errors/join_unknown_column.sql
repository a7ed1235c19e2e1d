SELECT c.nothing, t.nowhere FROM clicks AS c JOIN trips AS t ON c.id = t.id
-- error
-- <cell>:1:10: column 'nothing' not found
--   SELECT c.nothing, t.nowhere FROM clicks AS c JOIN trips AS t ON c.id = t.id
--            ^^^^^^^
--   hint: known: at, id
-- <cell>:1:21: column 'nowhere' not found
--   SELECT c.nothing, t.nowhere FROM clicks AS c JOIN trips AS t ON c.id = t.id
--                       ^^^^^^^
--   hint: known: at, done, fare, id, name, place, price, ratio, seats, tags, userId
