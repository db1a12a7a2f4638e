-- No batch is decided by a clock that is ahead (docs/decisions/0023-time-is-bounded-by-the-database.md). The version before
-- this can still run beside it: its batches say nothing of its clock, as those from before, and are not refused.
-- `not valid`: rows that are there say nothing either, so nobody has to wait while they are read.
alter table batch
  add column not_ahead boolean,
  add constraint clock_ahead check (not_ahead) not valid;
