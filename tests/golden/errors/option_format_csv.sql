CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'csv')
-- error
-- <cell>:1:87: Failed to create table x caused by unknown format 'csv'
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'csv')
--                                                                                         ^^^^^^^^^^^^^^
--   hint: in a notebook %%arroyo_rows NAME --from FILE makes a table of it; or convert it: pandas.read_csv('FILE').to_json('FILE.jsonl', orient='records', lines=True, date_format='iso'), and read that with format = 'json'; or send the rows to a tape: session.emit('FILE.tape', pandas.read_csv('FILE'))
