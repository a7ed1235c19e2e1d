-- Bounded side input: a lookup join with a small table. Flink writes FOR SYSTEM_TIME AS
-- OF; here a table that is declared TEMPORARY is looked up. A runner declares it.
SELECT B.auction, B.bidder, B.price, B.datetime, S.value
FROM (SELECT *, auction % 10000 AS side FROM bid) AS B
JOIN side_input AS S ON B.side = S.key;
