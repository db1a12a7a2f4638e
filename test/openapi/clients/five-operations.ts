/**
 * What each generated client does: a token, a transfer, a mint, a redemption, a conversion, an order and its executions,
 * and a rejection. Requests and responses have to fit the types that its generator made of the document.
 */
export interface Client {
  token(form: TokenForm): Promise<{ readonly access_token: string }>;
  /** What it calls with this token. */
  calls(token: string): Calls;
}

interface Calls {
  transfer(body: TransferBody): Promise<{ readonly type: string; readonly total: string; readonly status: string }>;
  convert(body: ConversionBody): Promise<{ readonly status: string; readonly target_asset: string }>;
  order(profileId: string, body: OrderBody): Promise<OrderAnswer>;
  getOrder(profileId: string, id: string): Promise<OrderAnswer>;
  executions(filter: { order_id: string; limit: number }): Promise<{ readonly items: readonly ExecutionAnswer[] }>;
  /** Of a transfer that is rejected, the problem. */
  rejection(body: TransferBody): Promise<{ readonly status: number; readonly title: string }>;
}

interface TokenForm {
  grant_type: "client_credentials";
  client_id: string;
  client_secret: string;
}

interface TransferBody {
  from_profile_id: string;
  to_profile_id: string;
  amount: string;
  asset: string;
  metadata?: Record<string, string>;
}

interface ConversionBody {
  profile_id: string;
  amount: string;
  source_asset: string;
  target_asset: string;
}

interface OrderBody {
  market: string;
  side: "BUY" | "SELL";
  type: "LIMIT";
  base_amount: string;
  price: string;
  await_fill_millis: number;
}

interface OrderAnswer {
  readonly id: string;
  readonly status: string;
  readonly amount_filled: string;
}

interface ExecutionAnswer {
  readonly price: string;
  readonly amount: string;
}

export interface Given {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly from: string;
  readonly to: string;
}

export async function fiveOperations(service: Client, { clientId, clientSecret, from, to }: Given): Promise<object> {
  const form = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret } as const;
  const { access_token } = await service.token(form);
  const client = service.calls(access_token);
  const move = { from_profile_id: from, to_profile_id: to, amount: "12.5", asset: "USD" };
  const transfer = await client.transfer({ ...move, metadata: { invoice: "2026-0042" } });
  const convert = async (source_asset: string, target_asset: string) => {
    const conversion = await client.convert({ profile_id: from, amount: "10", source_asset, target_asset });
    return `${conversion.target_asset} ${conversion.status}`;
  };
  const conversions = [await convert("USD", "PYUSD"), await convert("PYUSD", "USD"), await convert("PYUSD", "USDP")];
  const buy = { market: "BTCUSD", side: "BUY", type: "LIMIT", base_amount: "0.01", price: "25000" } as const;
  const { id } = await client.order(from, { ...buy, await_fill_millis: 10_000 });
  const { status, amount_filled } = await client.getOrder(from, id);
  const { items } = await client.executions({ order_id: id, limit: 10 });
  const rejected = await client.rejection({ ...move, amount: "1000000" });
  return {
    transfer: `${transfer.type} ${transfer.total} ${transfer.status}`,
    conversions,
    order: `${status} ${amount_filled}`,
    executions: items.map(({ price, amount }) => `${amount} at ${price}`),
    rejected: `${rejected.status} ${rejected.title}`,
  };
}

interface Answer<Data, Problem> {
  readonly data?: Data | undefined;
  readonly error?: Problem | undefined;
}

/** What a call returned that succeeded. */
export async function dataOf<Data>(call: Promise<Answer<Data, unknown>>): Promise<Data> {
  const { data, error } = await call;
  if (data === undefined) throw new Error(`it is rejected: ${JSON.stringify(error)}`);
  return data;
}

/** Why a call was rejected. */
export async function problemOf<Problem>(call: Promise<Answer<unknown, Problem>>): Promise<Problem> {
  const { error } = await call;
  if (error === undefined) throw new Error("it is not rejected");
  return error;
}
