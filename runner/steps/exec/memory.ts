// Resident memory of a process and everything that it started, as Linux tells it.
import { readFile } from 'node:fs/promises';

/** Bytes; 0 where the system does not tell or the process is gone. */
export async function residentBytes(pid: number): Promise<number> {
  const [own, children] = await Promise.all([ownBytes(pid), childrenOf(pid)]);
  const below = await Promise.all(children.map(residentBytes));
  return below.reduce((sum, bytes) => sum + bytes, own);
}

async function ownBytes(pid: number): Promise<number> {
  const status = await readOr(`/proc/${pid}/status`, '');
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? 0 : Number(kilobytes) * 1024;
}

async function childrenOf(pid: number): Promise<number[]> {
  const list = await readOr(`/proc/${pid}/task/${pid}/children`, '');
  return list.split(' ').filter(Boolean).map(Number);
}

const readOr = (path: string, otherwise: string): Promise<string> => readFile(path, 'utf8').catch(() => otherwise);
