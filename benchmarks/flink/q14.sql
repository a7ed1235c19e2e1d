-- Calculation. As published the characters are counted by a function in Java.
SELECT auction, bidder, 0.908E0 * price AS price,
       CASE
           WHEN HOUR(`datetime`) >= 8 AND HOUR(`datetime`) <= 18 THEN 'dayTime'
           WHEN HOUR(`datetime`) <= 6 OR HOUR(`datetime`) >= 20 THEN 'nightTime'
           ELSE 'otherTime'
       END AS bid_time_type,
       `datetime`, extra,
       CAST(CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS BIGINT)
           AS c_counts
FROM bid
WHERE 0.908E0 * price > 1000000 AND 0.908E0 * price < 50000000;
