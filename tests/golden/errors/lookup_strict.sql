-- strict
SELECT f.flight, a.name FROM flights AS f JOIN airlines AS a ON f.carrier = a.carrier
-- error
-- <cell>:2:48: a lookup table of the connector 'sample': only redis can be one
--   SELECT f.flight, a.name FROM flights AS f JOIN airlines AS a ON f.carrier = a.carrier
--                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
