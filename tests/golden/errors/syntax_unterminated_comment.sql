SELECT 1 /* never
-- error
-- <cell>:1:10: unterminated comment: a closing */ is missing
--   SELECT 1 /* never
--            ^^
