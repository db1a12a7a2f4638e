/** Posts once in a thread, says what came of it, and has nothing more to do. */
const [module, policy, url] = process.argv.slice(2);
const { OutgoingThread } = await import(module);
const thread = new OutgoingThread(JSON.parse(policy), () => undefined);
const { kind } = await thread.post({ url, headers: {}, body: "{}" });
process.stdout.write(`${kind}\n`);
