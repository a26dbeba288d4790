// An embedder with the OpenAI interface behind a gate: while the gate is closed its answers wait, so that a scenario can do something to
// the cluster "during an update" and count what ran twice.
//   POST /v1/embeddings   a vector for each text, once the gate is open
//   POST /close, /open    the gate
//   POST /pace?ms=N       an open gate answers each question after so long, as a model does that takes its time
//   GET  /waiting?n=N     answers when N texts wait at the gate
//   GET  /seen            {texts: {text: how often it was asked for}, waiting}
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const DIMENSIONS = 64;
let isOpen = true;
let paceMs = 0;
const seen = new Map();
/** Answers that wait, with the number of their texts. */
const held = new Set();
/** Questions of scenarios: how many texts must wait. */
const asked = new Set();

const waiting = () => [...held].reduce((sum, { count }) => sum + count, 0);

function tellWaiting() {
  for (const question of asked) {
    if (waiting() < question.count) continue;
    asked.delete(question);
    question.answer();
  }
}

const vectorOf = (text) => {
  const bytes = createHash('sha512').update(text).digest();
  return Array.from({ length: DIMENSIONS }, (_, i) => bytes[i] / 255);
};

const json = (response, value) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

async function embed(request, response) {
  let body = '';
  for await (const piece of request) body += piece;
  const texts = [JSON.parse(body).input].flat();
  for (const text of texts) seen.set(text, (seen.get(text) ?? 0) + 1);
  const answer = () =>
    json(response, { data: texts.map((text, index) => ({ index, embedding: vectorOf(text) })), model: 'gate' });
  if (isOpen) return void setTimeout(answer, paceMs);
  const one = { count: texts.length, answer };
  held.add(one);
  response.once('close', () => held.delete(one)); // whoever asked is gone
  tellWaiting();
}

const routes = {
  '/v1/embeddings': embed,
  '/close': (_, response) => {
    isOpen = false;
    json(response, {});
  },
  '/open': (_, response) => {
    isOpen = true;
    for (const { answer } of held) answer();
    held.clear();
    json(response, {});
  },
  '/pace': (url, response) => {
    paceMs = Number(url.searchParams.get('ms'));
    json(response, {});
  },
  '/waiting': (url, response) => {
    asked.add({ count: Number(url.searchParams.get('n')), answer: () => json(response, { waiting: waiting() }) });
    tellWaiting();
  },
  '/seen': (_, response) => json(response, { texts: Object.fromEntries(seen), waiting: waiting() }),
};

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://gate');
  const route = routes[url.pathname];
  if (route === undefined) response.writeHead(404).end();
  else void route(url.pathname === '/v1/embeddings' ? request : url, response);
});
server.requestTimeout = 0;
server.listen(8080);
process.on('SIGTERM', () => process.exit());
