-- Highest bid. As published a bid at the very end of a window, which is in the next
-- one, is compared with the window's maximum too: here it is not. window_time is an
-- event time, the last of its window, so that Flink forgets bids of old windows.
SELECT B.auction, B.price, B.bidder, B.`datetime`, B.extra
FROM bid AS B
JOIN (
    SELECT MAX(price) AS maxprice, window_time
    FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(row_time), INTERVAL '10' SECOND))
    GROUP BY window_start, window_end, window_time
) AS B1
ON B.price = B1.maxprice
WHERE B.row_time BETWEEN B1.window_time - INTERVAL '9.999' SECOND AND B1.window_time;
