-- Windows of ten seconds by bidder. Flink's are of processing time, which the dialect has
-- not: these are of event time.
SELECT tumble(INTERVAL '10 seconds') AS window, bidder, count(*) AS bid_count
FROM bid GROUP BY window, bidder;
