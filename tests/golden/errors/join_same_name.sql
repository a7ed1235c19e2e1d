SELECT 1 AS one FROM clicks JOIN clicks ON 1 = 1
-- error
-- <cell>:1:34: the relation 'clicks' is twice in FROM
--   SELECT 1 AS one FROM clicks JOIN clicks ON 1 = 1
--                                    ^^^^^^
--   hint: give it another name: clicks AS other
