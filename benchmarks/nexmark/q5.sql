-- Hot items: the auctions with the most bids of each window. Flink calls HOP as a table
-- function and joins by window_start and window_end; here a window is one column.
SELECT AuctionBids.auction, AuctionBids.num, AuctionBids.window
FROM (
    SELECT hop(INTERVAL '2 seconds', INTERVAL '10 seconds') AS window, auction,
           count(*) AS num
    FROM bid GROUP BY window, auction
) AS AuctionBids
JOIN (
    SELECT window, max(num) AS maxn
    FROM (
        SELECT hop(INTERVAL '2 seconds', INTERVAL '10 seconds') AS window, auction,
               count(*) AS num
        FROM bid GROUP BY window, auction
    ) AS CountBids
    GROUP BY window
) AS MaxBids
ON AuctionBids.window = MaxBids.window AND AuctionBids.num >= MaxBids.maxn;
