-- The three streams of Nexmark, as views of the one that the connector makes. A runner
-- declares `nexmark` before: live, as a recording, or as events in files.
CREATE VIEW person AS
SELECT person.id AS id, person.name AS name, person.email_address AS email_address,
       person.credit_card AS credit_card, person.city AS city, person.state AS state,
       person.datetime AS datetime, person.extra AS extra
FROM nexmark WHERE person IS NOT NULL;

CREATE VIEW auction AS
SELECT auction.id AS id, auction.item_name AS item_name,
       auction.description AS description, auction.initial_bid AS initial_bid,
       auction.reserve AS reserve, auction.datetime AS datetime,
       auction.expires AS expires, auction.seller AS seller,
       auction.category AS category, auction.extra AS extra
FROM nexmark WHERE auction IS NOT NULL;

CREATE VIEW bid AS
SELECT bid.auction AS auction, bid.bidder AS bidder, bid.price AS price,
       bid.channel AS channel, bid.url AS url, bid.datetime AS datetime,
       bid.extra AS extra
FROM nexmark WHERE bid IS NOT NULL;
