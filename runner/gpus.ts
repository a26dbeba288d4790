// How many cards this machine has for steps, and what a program must be told to see one of them (G8).
import { execFile } from 'node:child_process';

type Environment = Readonly<Record<string, string | undefined>>;

/** Most cards of one runner. */
const CARDS_MAX = 64;
const SMI_MAX_MS = 5_000;

/**
 * Cards of this machine: what FAIRLEAD_NUM_GPUS says, else the entries of CUDA_VISIBLE_DEVICES, else those that `nvidia-smi -L` lists (slices of
 * MIG where there are any), else none. Throws where FAIRLEAD_NUM_GPUS is no whole number from 0 to 64. `list`: answers the lines of `nvidia-smi -L`.
 */
export async function countCards(environment: Environment, list: () => Promise<string> = nvidiaSmi): Promise<number> {
  const { FAIRLEAD_NUM_GPUS: said, CUDA_VISIBLE_DEVICES: visible } = environment;
  if (said !== undefined) return numberOf(said);
  if (visible !== undefined) return entriesOf(visible).length;
  return countOf(await list());
}

/** CUDA_VISIBLE_DEVICES of a program that is to see these cards of this process. */
export function visibleDevices(cards: readonly number[], { CUDA_VISIBLE_DEVICES: own }: Environment): string {
  const entries = own === undefined ? [] : entriesOf(own);
  return cards.map((card) => entries[card] ?? String(card)).join(',');
}

function numberOf(text: string): number {
  const trimmed = text.trim();
  if (/^\d{1,2}$/.test(trimmed) && Number(trimmed) <= CARDS_MAX) return Number(trimmed);
  throw new RangeError(
    `FAIRLEAD_NUM_GPUS must be a whole number from 0 to ${CARDS_MAX}; it is ${JSON.stringify(text)}`,
  );
}

/** As CUDA reads it: what stands behind an entry that is no device counts no more. */
function entriesOf(visible: string): string[] {
  const entries = visible.split(',').map((entry) => entry.trim());
  const end = entries.findIndex((entry) => !/^(\d+|GPU-.+|MIG-.+)$/.test(entry));
  return end < 0 ? entries : entries.slice(0, end);
}

/** A card that is cut into slices offers those, and not itself. */
function countOf(listing: string): number {
  const lines = listing.split('\n');
  const slices = lines.filter((line) => /^\s+MIG .*UUID: /.test(line)).length;
  return slices > 0 ? slices : lines.filter((line) => /^GPU \d+:/.test(line)).length;
}

/** Empty where the program is missing, fails or does not answer. */
function nvidiaSmi(): Promise<string> {
  return new Promise((resolve) => {
    execFile('nvidia-smi', ['-L'], { timeout: SMI_MAX_MS }, (error, stdout) => resolve(error === null ? stdout : ''));
  });
}
