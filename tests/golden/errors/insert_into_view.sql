INSERT INTO hourly SELECT * FROM hourly
-- error
-- <cell>:1:13: shouldn't be inserting more data into a table made with CREATE TABLE AS
--   INSERT INTO hourly SELECT * FROM hourly
--               ^^^^^^
--   hint: 'hourly' is a view: INSERT INTO a table of a connector
