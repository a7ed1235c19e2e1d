SELECT c.at FROM clicks AS c JOIN trips AS t USING (id)
-- error
-- <cell>:1:35: can't handle join constraint other than ON
--   SELECT c.at FROM clicks AS c JOIN trips AS t USING (id)
--                                     ^^^^^^^^^^^^^^^^^^^^
--   hint: write ON a.x = b.x
