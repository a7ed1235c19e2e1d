-- Highest bid: the bids of each window that are as high as its highest. Flink joins the
-- bids to the maxima by time; here both sides have the window.
SELECT B.auction, B.price, B.bidder, B.datetime, B.extra
FROM (
    SELECT tumble(INTERVAL '10 seconds') AS window, auction, price, bidder, datetime,
           extra
    FROM bid GROUP BY window, auction, price, bidder, datetime, extra
) AS B
JOIN (
    SELECT tumble(INTERVAL '10 seconds') AS window, max(price) AS maxprice
    FROM bid GROUP BY window
) AS B1
ON B.window = B1.window AND B.price = B1.maxprice;
