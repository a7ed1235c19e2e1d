CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'jsn')
-- error
-- <cell>:1:87: Failed to create table x caused by unknown format 'jsn'
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'jsn')
--                                                                                         ^^^^^^^^^^^^^^
--   hint: did you mean 'json'?
