INSERT INTO totals VALUES ('a', 1, 2)
-- error
-- <cell>:1:28: VALUES is not supported
--   INSERT INTO totals VALUES ('a', 1, 2)
--                              ^^^^^^^^^
--   hint: rows are sent from Python: session.emit('totals', rows)
