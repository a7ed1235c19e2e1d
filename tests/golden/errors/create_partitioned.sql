CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json') PARTITIONED BY (identity(a));
CREATE TABLE i (a INT, at TIMESTAMP) WITH (connector = 'iceberg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'i') PARTITIONED BY (a, identiti(a), bucket(a), bucket(a, 0), bucket(8, a), day(a + 1));
CREATE TABLE j (a INT, at TIMESTAMP) WITH (connector = 'iceberg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'j') PARTITIONED BY (identity(b), month(a), day(at), bucket(a, 8));
CREATE TABLE k WITH (connector = 'iceberg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'k') PARTITIONED BY (hour(at));
INSERT INTO k SELECT id FROM trips
-- error
-- <cell>:1:120: the connector 'single_file' takes no PARTITIONED BY
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json') PARTITIONED BY (identity(a));
--                                                                                                                          ^^^^^^^^^^^
--   hint: remove it, or set the option that the connector has for it in WITH (...)
-- <cell>:2:194: each item of PARTITIONED BY must be a call of a transform
--   …erg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'i') PARTITIONED BY (a, identiti(a), bucket(a), bucket(a, 0), bucket(8, a), day(a + 1));
--                                                                                                                                         ^
--   hint: write identity(a)
-- <cell>:2:197: unknown partition transform 'identiti'
--   …erg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'i') PARTITIONED BY (a, identiti(a), bucket(a), bucket(a, 0), bucket(8, a), day(a + 1));
--                                                                                                                                            ^^^^^^^^^^^
--   hint: did you mean 'identity'?
-- <cell>:2:210: the partition transform 'bucket' takes a column and a whole number of at least 1
--   …erg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'i') PARTITIONED BY (a, identiti(a), bucket(a), bucket(a, 0), bucket(8, a), day(a + 1));
--                                                                                                                                                         ^^^^^^^^^
--   hint: write bucket(column, n)
-- <cell>:2:221: the partition transform 'bucket' takes a column and a whole number of at least 1
--   …erg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'i') PARTITIONED BY (a, identiti(a), bucket(a), bucket(a, 0), bucket(8, a), day(a + 1));
--                                                                                                                                                                    ^^^^^^^^^^^^
--   hint: write bucket(column, n)
-- <cell>:2:235: the partition transform 'bucket' takes a column and a whole number of at least 1
--   …erg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'i') PARTITIONED BY (a, identiti(a), bucket(a), bucket(a, 0), bucket(8, a), day(a + 1));
--                                                                                                                                                                                  ^^^^^^^^^^^^
--   hint: write bucket(column, n)
-- <cell>:2:249: the partition transform 'day' takes a column
--   …erg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'i') PARTITIONED BY (a, identiti(a), bucket(a), bucket(a, 0), bucket(8, a), day(a + 1));
--                                                                                                                                                                                                ^^^^^^^^^^
--   hint: write day(column)
-- <cell>:3:203: PARTITIONED BY: the table has no column 'b'
--   …TH (connector = 'iceberg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'j') PARTITIONED BY (identity(b), month(a), day(at), bucket(a, 8));
--                                                                                                                                                                       ^
--   hint: known: a, at
-- <cell>:3:213: PARTITIONED BY month: the column 'a' is INT, no time
--   …TH (connector = 'iceberg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'j') PARTITIONED BY (identity(b), month(a), day(at), bucket(a, 8));
--                                                                                                                                                                                 ^
--   hint: partition by identity(column), or by a TIMESTAMP
-- <cell>:4:177: PARTITIONED BY: the table has no column 'at'
--   CREATE TABLE k WITH (connector = 'iceberg', type = 'sink', format = 'parquet', 'catalog.type' = 'rest', 'catalog.rest.url' = 'http://h', table_name = 'k') PARTITIONED BY (hour(at));
--                                                                                                                                                                                   ^^
--   hint: known: id
