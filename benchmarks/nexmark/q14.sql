-- Calculation: expressions and a filter. Flink counts characters by a function of its
-- own, count_char.
SELECT auction, bidder, 0.908 * price AS price,
       CASE
           WHEN extract(hour FROM datetime) >= 8 AND extract(hour FROM datetime) <= 18
               THEN 'dayTime'
           WHEN extract(hour FROM datetime) <= 6 OR extract(hour FROM datetime) >= 20
               THEN 'nightTime'
           ELSE 'otherTime'
       END AS bid_time_type,
       datetime, extra,
       length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
