DROP TABLE click;
DROP VIEW clicks;
DROP INDEX i
-- error
-- <cell>:1:1: Table click not found
--   DROP TABLE click;
--   ^^^^^^^^^^^^^^^^
--   hint: did you mean 'clicks'?
-- <cell>:2:1: 'clicks' is a table, not a view
--   DROP VIEW clicks;
--   ^^^^^^^^^^^^^^^^
--   hint: write DROP TABLE clicks
-- <cell>:3:6: syntax error at 'INDEX'
--   DROP INDEX i
--        ^^^^^
--   hint: write DROP TABLE or DROP VIEW, and a name
