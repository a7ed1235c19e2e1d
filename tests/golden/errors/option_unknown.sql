CREATE TABLE x (a INT) WITH (connector = 'single_file', pth = '/r', path = '/r', type = 'source', format = 'json', zzz = 1)
-- error
-- <cell>:1:57: Failed to create table x caused by unknown options provided in WITH clause: 'pth', 'zzz'
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', pth = '/r', path = '/r', type = 'source', format = 'json', zzz = 1)
--                                                           ^^^^^^^^^^
--   hint: write 'path' in place of 'pth'
