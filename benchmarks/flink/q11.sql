-- User sessions, by Flink's newer table function.
SELECT window_start, window_end, bidder, COUNT(*) AS bid_count
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(row_time),
                   INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
