-- User sessions: how many bids a bidder made while never idle for ten seconds.
SELECT session(INTERVAL '10 seconds') AS window, bidder, count(*) AS bid_count
FROM bid GROUP BY window, bidder;
