CREATE TABLE x (a INT, b INT, PRIMARY KEY (a, b)) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:44: Unsupported table constraint `PRIMARY KEY (a, b)`
--   CREATE TABLE x (a INT, b INT, PRIMARY KEY (a, b)) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                              ^^^^
--   hint: PRIMARY KEY stands after its column's type: id BIGINT PRIMARY KEY
