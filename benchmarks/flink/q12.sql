-- Windows of ten seconds by bidder. As published they are of processing time, whose
-- rows are others in each run: here they are of event time, as ours.
SELECT window_start, window_end, bidder, COUNT(*) AS bid_count
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(row_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
