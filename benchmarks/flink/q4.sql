-- Average price for a category. Flink's AVG of a BIGINT is a BIGINT; ours is a DOUBLE.
SELECT Q.category, AVG(CAST(Q.final AS DOUBLE)) AS average
FROM (
    SELECT MAX(B.price) AS final, A.category
    FROM auction AS A, bid AS B
    WHERE A.id = B.auction AND B.`datetime` BETWEEN A.`datetime` AND A.expires
    GROUP BY A.id, A.category
) AS Q
GROUP BY Q.category;
