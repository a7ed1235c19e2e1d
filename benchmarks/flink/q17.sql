-- Auction statistics of each day. Flink's AVG of a BIGINT is a BIGINT; ours is a DOUBLE.
SELECT auction, DATE_FORMAT(`datetime`, 'yyyy-MM-dd') AS `day`,
       COUNT(*) AS total_bids,
       COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
       COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
       COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
       MIN(price) AS min_price, MAX(price) AS max_price,
       AVG(CAST(price AS DOUBLE)) AS avg_price, SUM(price) AS sum_price
FROM bid GROUP BY auction, DATE_FORMAT(`datetime`, 'yyyy-MM-dd');
