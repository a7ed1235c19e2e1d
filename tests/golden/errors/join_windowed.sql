SELECT a.n FROM hourly AS a JOIN hourly AS b ON a.name = b.name
-- error
-- <cell>:1:34: joins of windowed rows are not supported yet
--   SELECT a.n FROM hourly AS a JOIN hourly AS b ON a.name = b.name
--                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
