// A program of an `exec` step that does what the text of the first element says. Speaks plain JavaScript on purpose: a program
// knows nothing of Fairlead.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

process.stderr.write(`started with key ${process.env.SECRET_KEY ?? 'none'}\n`);
process.stdout.write('{"ready": true}\n');
const kept = [];

const does = {
  upper: (call) => ({ elements: call.elements.map((element) => ({ ...element, text: element.text.toUpperCase() })) }),
  pid: () => ({ elements: [{ text: String(process.pid) }] }),
  cards: () => ({ elements: [{ text: process.env.CUDA_VISIBLE_DEVICES ?? 'none' }] }),
  share: () => ({ elements: [{ text: `${process.env.FAIRLEAD_GPUS} ${process.env.FAIRLEAD_GPU_FRACTION}` }] }),
  where: () => ({ elements: [{ text: process.cwd() }] }),
  vector: () => ({ elements: [{ text: 'v', vector: [1, 0.5], fields: { kind: 'x' } }] }),
  seen: (call) => ({ elements: [{ text: JSON.stringify(call) }] }),
  refuse: () => ({ error: 'not a PDF' }),
  later: () => ({ error: 'model is loading', class: 'rate-limited', retryAfterMs: 7000 }),
  crash: () => {
    process.stderr.write(`Traceback: boom (${process.env.SECRET_KEY})\n`);
    process.exit(3);
  },
  hang: () => undefined,
  child: () => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    return { elements: [{ text: String(child.pid) }] };
  },
  grow: () => {
    kept.push(Buffer.alloc(200 * 1024 * 1024, 1));
    return { elements: [{ text: String(process.pid) }] };
  },
  swell: () => {
    setInterval(() => kept.push(Buffer.alloc(50 * 1024 * 1024, 1)), 5);
    return undefined;
  },
  babble: () => {
    process.stdout.write('Loading model...\n');
    return undefined;
  },
  wrong: () => ({ elements: [{ text: 7 }] }),
};

const act = (call) => does[call.elements[0].text](call);
const reply = (body) => process.stdout.write(`${JSON.stringify(body)}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, calls, ...call } = JSON.parse(line);
  if (calls === undefined) {
    const result = act(call);
    if (result !== undefined) reply({ id, ...result });
  } else {
    const results = calls.map(act);
    if (!results.includes(undefined)) reply({ id, results });
  }
}
