-- Monitor new users: who registered and opened an auction in the same window.
SELECT P.id, P.name, P.window
FROM (
    SELECT tumble(INTERVAL '10 seconds') AS window, id, name
    FROM person GROUP BY window, id, name
) AS P
JOIN (
    SELECT tumble(INTERVAL '10 seconds') AS window, seller
    FROM auction GROUP BY window, seller
) AS A
ON P.window = A.window AND P.id = A.seller;
