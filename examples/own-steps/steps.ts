// Steps of your own. The Pipeline names this file and the exported functions; Node runs it as it is.
import {
  type Component,
  declareRow,
  type Element,
  type ModuleFunction,
  map,
  memo,
  mountEach,
  StepError,
} from 'fairlead/sdk';
import { sectionsOf } from './heading.ts';

/** Stands for something dear, such as a call of a model: kept in the state until `version` changes, whatever else is edited here. */
const readingMinutes = memo(async (text: string) => Math.ceil(text.split(/\s+/).length / 200), {
  name: 'reading-minutes',
  version: '1',
});

/** One element per section of a note, with its title. */
const sections: ModuleFunction = async (elements, { settings, log, item }) => {
  const { heading } = settings as { readonly heading: string };
  const texts = elements.flatMap(({ text = '' }) => sectionsOf(text, heading));
  if (texts.length === 0) log(`${item.key} is empty`);
  return map(texts, async ({ title, text }) => ({ text, fields: { title, minutes: await readingMinutes(text) } }));
};
export default sections;

/** Mounts a component per task, and passes the elements on. A task that leaves the note is deleted with its row. */
export const tasks: ModuleFunction = async (elements) => {
  const found = elements.flatMap(({ text = '' }) =>
    [...text.matchAll(/^- TODO (.+)$/gm)].map(([, what]) => what ?? ''),
  );
  // A component's result depends on its input and the code alone, so one that the state knows is not run again.
  await mountEach(
    task,
    [...new Set(found)].map((what) => [what, { what }] as const),
    { memo: true },
  );
  return elements;
};

/** One task: a row of the target "tasks". */
export const task: Component<{ readonly what: string }, void> = ({ what }) => {
  if (what.length > 200) throw new StepError('invalid', `a task is one line of at most 200 characters: ${what}`);
  const row: Element = { text: what, fields: { words: what.split(' ').length } };
  declareRow('tasks', row);
};
