-- Who asked for each write (docs/decisions/0019-who-made-each-write.md). The version before this can still run beside
-- it: what it writes tells no callers, like everything that was written before, and is hashed as it was.

-- The callers of a batch, each once: [{"client", "token", "address", "operation"}, {"house"}, {"operator", "operation"}].
-- It is hashed, so it is stored as the text that it was. Behind the digest of each row in `changes` stand the numbers,
-- from 0, of those who asked for the change.
alter table batch add column callers json;

-- Of whose making a record is: the number of its caller within its batch, from 0.
alter table transfer add column caller smallint;

-- Who asked for the cancel, until the engine has carried it out and says so in its batch.
alter table order_cancel add column caller json;
