SELECT id FROM clicks
WHERE name = 'abc
-- error
-- <cell>:2:14: unterminated text: the closing ' is missing
--   WHERE name = 'abc
--                ^
