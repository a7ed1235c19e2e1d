-- Log to a file system: the rows, which a sink would partition by the last two columns.
SELECT auction, bidder, price, `datetime`, extra,
       DATE_FORMAT(`datetime`, 'yyyy-MM-dd') AS dt, DATE_FORMAT(`datetime`, 'HH:mm') AS hm
FROM bid;
