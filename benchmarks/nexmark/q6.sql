-- Average selling price by seller: of a seller's last ten auctions. Flink can't run its
-- own form, which has OVER above an updating query. Here the winning bid of an auction
-- is that of one window, in which OVER is exact.
SELECT window, seller, id,
       avg(final) OVER (PARTITION BY window, seller ORDER BY sold, id
                        ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS average
FROM (
    SELECT A.window AS window, A.seller AS seller, A.id AS id, max(B.price) AS final,
           max(B.datetime) AS sold
    FROM (
        SELECT tumble(INTERVAL '10 seconds') AS window, id, seller, datetime, expires
        FROM auction GROUP BY window, id, seller, datetime, expires
    ) AS A
    JOIN (
        SELECT tumble(INTERVAL '10 seconds') AS window, auction, price, datetime
        FROM bid GROUP BY window, auction, price, datetime
    ) AS B
    ON A.window = B.window AND A.id = B.auction
    WHERE B.datetime BETWEEN A.datetime AND A.expires
    GROUP BY A.window, A.seller, A.id
) AS Q;
