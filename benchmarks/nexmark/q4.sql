-- Average price for a category: an updating aggregate over an updating aggregate. Flink
-- writes the join as FROM auction A, bid B WHERE.
SELECT category, avg(final) AS average
FROM (
    SELECT A.id, A.category, max(B.price) AS final
    FROM auction AS A JOIN bid AS B ON A.id = B.auction
    WHERE B.datetime BETWEEN A.datetime AND A.expires
    GROUP BY A.id, A.category
) AS Q
GROUP BY category;
