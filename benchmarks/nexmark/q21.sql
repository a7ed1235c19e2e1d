-- Add the channel's id: from a table of four, or from the address. Flink's
-- REGEXP_EXTRACT is regexp_match here, whose first group is the element 2.
SELECT auction, bidder, price, channel,
       CASE
           WHEN lower(channel) = 'apple' THEN '0'
           WHEN lower(channel) = 'google' THEN '1'
           WHEN lower(channel) = 'facebook' THEN '2'
           WHEN lower(channel) = 'baidu' THEN '3'
           ELSE regexp_match(url, '(&|^)channel_id=([^&]*)')[2]
       END AS channel_id
FROM bid
WHERE regexp_match(url, '(&|^)channel_id=([^&]*)')[2] IS NOT NULL
   OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu');
