CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json', bad_data = 'dorp')
-- error
-- <cell>:1:115: Failed to create table x caused by invalid value for 'bad_data': `dorp`; expected one of 'drop' or 'fail'
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json', bad_data = 'dorp')
--                                                                                                                     ^^^^^^
--   hint: did you mean 'drop'?
