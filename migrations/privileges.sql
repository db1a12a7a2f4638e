-- What the service's own role may do. Applied after every migration by the owner, with the role's name in the setting
-- parbook.service_role. What is not granted here the service cannot do, whatever bug it has: it adds to the ledger and
-- to the records, and cannot change or remove what was added.
do $$
declare
  service constant text := current_setting('parbook.service_role');
  granted record;
begin
  execute format('revoke all on all tables in schema public from %I', service);
  for granted in
    select * from (values
      ('asset', 'select'),
      ('house_kind', 'select'),
      ('market', 'select, update (status, version, slot, batch)'),
      ('fee_schedule', 'select, update (rebate_ceiling)'),
      ('fee_tier', 'select, insert, update, delete'),
      ('fee_agreement', 'select, insert, update, delete'),
      ('lease', 'select, insert, update'),
      ('market_head', 'select, insert, update'),
      ('customer', 'select, insert, update (name, disabled_at)'),
      ('client', 'select, insert, update'),
      ('client_secret', 'select, insert, update, delete'),
      ('signing_key', 'select, insert, update, delete'),
      ('configuration_write', 'select, insert, update (version, slot, batch)'),
      ('profile', 'select, insert, update'),
      ('batch', 'select, insert'),
      ('account', 'select, insert, update'),
      ('posting', 'select, insert'),
      ('claim', 'select, insert, update'),
      ('transfer', 'select, insert'),
      ('external_transfer', 'select, insert, update'),
      ('legal_hold', 'select, insert, update'),
      ('conversion', 'select, insert, update'),
      ('orders', 'select, insert, update'),
      ('pending_order', 'select, insert, update, delete'),
      ('booked_order', 'select, insert, update, delete'),
      ('order_cancel', 'select, insert, delete'),
      ('execution', 'select, insert'),
      ('customer_volume', 'select, insert, update'),
      ('book_change', 'select, insert, delete'),
      ('event_cut', 'select, insert'),
      ('event', 'select, insert, delete'),
      ('event_retention', 'select, update'),
      ('webhook', 'select, insert, update'),
      ('webhook_secret', 'select, insert, update, delete'),
      ('webhook_progress', 'select, insert, update'),
      ('webhook_delivery', 'select, insert, update, delete'),
      ('webhook_attempt', 'select, insert, delete'),
      ('webhook_disabling', 'select, insert, update'),
      ('access_denial', 'select, insert, delete'),
      ('migration', 'select'),
      ('ledger', 'select'),
      ('service_mode', 'select, insert')
    ) as t(name, privileges)
  loop
    execute format('grant %s on %I to %I', granted.privileges, granted.name, service);
  end loop;
  execute format('grant usage on schema public to %I', service);
end $$;
