-- Hot items.
SELECT AuctionBids.auction, AuctionBids.num, AuctionBids.window_start,
       AuctionBids.window_end
FROM (
    SELECT auction, COUNT(*) AS num, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(row_time), INTERVAL '2' SECOND,
                   INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
) AS AuctionBids
JOIN (
    SELECT MAX(num) AS maxn, window_start, window_end
    FROM (
        SELECT auction, COUNT(*) AS num, window_start, window_end
        FROM TABLE(HOP(TABLE bid, DESCRIPTOR(row_time), INTERVAL '2' SECOND,
                       INTERVAL '10' SECOND))
        GROUP BY auction, window_start, window_end
    ) AS CountBids
    GROUP BY window_start, window_end
) AS MaxBids
ON AuctionBids.window_start = MaxBids.window_start
    AND AuctionBids.window_end = MaxBids.window_end
    AND AuctionBids.num >= MaxBids.maxn;
