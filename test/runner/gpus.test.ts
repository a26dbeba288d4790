// How many cards a machine has (G8), and what programs are told of them.
import { expect, test } from 'vitest';
import { countCards, visibleDevices } from '../../runner/gpus.ts';

const TWO = 'GPU 0: NVIDIA H100 (UUID: GPU-1a)\nGPU 1: NVIDIA H100 (UUID: GPU-2b)\n';
const SLICED = `GPU 0: NVIDIA H100 (UUID: GPU-1a)\n  MIG 1g.10gb     Device  0: (UUID: MIG-3c)\n  MIG 1g.10gb     Device  1: (UUID: MIG-4d)\n`;
const listing = (text: string) => async () => text;

const cases: Record<string, readonly [Readonly<Record<string, string>>, string, number]> = {
  'FAIRLEAD_NUM_GPUS comes first, to simulate cards too': [
    { FAIRLEAD_NUM_GPUS: '3', CUDA_VISIBLE_DEVICES: '0' },
    TWO,
    3,
  ],
  'FAIRLEAD_NUM_GPUS of 0 means none, whatever is there': [{ FAIRLEAD_NUM_GPUS: ' 0 ' }, TWO, 0],
  'CUDA_VISIBLE_DEVICES comes before what is listed': [{ CUDA_VISIBLE_DEVICES: '1' }, TWO, 1],
  'spaces in CUDA_VISIBLE_DEVICES do not count': [{ CUDA_VISIBLE_DEVICES: ' 0 , 1 ' }, '', 2],
  'CUDA_VISIBLE_DEVICES that is empty shows no card': [{ CUDA_VISIBLE_DEVICES: '' }, TWO, 0],
  'CUDA_VISIBLE_DEVICES ends at an entry that is no device, as CUDA reads it': [
    { CUDA_VISIBLE_DEVICES: '0,-1,1' },
    TWO,
    1,
  ],
  'CUDA_VISIBLE_DEVICES may name cards and slices by UUID': [{ CUDA_VISIBLE_DEVICES: 'GPU-1a,MIG-3c' }, '', 2],
  'without either, cards that nvidia-smi lists': [{}, TWO, 2],
  'a card that is cut into slices offers those': [{}, SLICED, 2],
  'without nvidia-smi, none': [{}, '', 0],
};

test.for(Object.entries(cases))('%s', async ([, [environment, listed, want]]) => {
  expect(await countCards(environment, listing(listed))).toBe(want);
});

test.for(['x', '-1', '1.5', '65', ''])('FAIRLEAD_NUM_GPUS=%j is refused with what it must be', async (text) => {
  await expect(countCards({ FAIRLEAD_NUM_GPUS: text })).rejects.toThrow('must be a whole number from 0 to 64');
});

test('a program sees the devices that stand at its cards in CUDA_VISIBLE_DEVICES of the runner', () => {
  expect(visibleDevices([0, 1], {})).toBe('0,1');
  expect(visibleDevices([1], { CUDA_VISIBLE_DEVICES: '3,5' })).toBe('5');
  expect(visibleDevices([0], { CUDA_VISIBLE_DEVICES: 'GPU-1a,GPU-2b' })).toBe('GPU-1a');
});
