-- Indexes that market data is read by, in place of two that could not answer it. The version before runs on these as
-- well: what it asked the old ones, the new ones answer. Each is built under a lock that writers wait for, so a large
-- installation applies this in a quiet hour.
--
-- An order stands in one of the first two where it stood in one before, and a match in the third with one entry where
-- it had two, so writing costs no more than it did (docs/decisions/0006-market-data-is-read-from-the-tables.md).

-- The book: levels in the order of their prices, the best one first from either end. Nothing that a partial fill
-- changes is in it.
create index orders_book on orders (market, side, price) where status = 'OPEN';
-- The stops that an engine reads when it builds its book anew.
create index orders_waiting on orders (market) where status = 'SUBMITTED';
drop index orders_open;

-- Matches, each by its taker's execution, whose id is odd. Prices and statistics are read from the index alone.
create index execution_match on execution (market, id) include (price, amount) where (id & 1) = 1;
drop index execution_market;
