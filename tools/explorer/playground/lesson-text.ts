/**
 * All lessons as one page of Markdown, for those who read rather than play. Owns the layout; the words are the
 * lessons'.
 */
import type { Lesson, Prediction } from './lesson.ts';

/** `docs/lessons.md`. */
export function lessonsMarkdown(lessons: readonly Lesson[]): string {
  const contents = lessons.map(
    ({ title, goal }, index) => `${index + 1}. [${title}](#${anchorOf(title, index)}): ${goal}`,
  );
  return [
    '# Lessons',
    INTRODUCTION,
    contents.join('\n'),
    ...lessons.map((lesson, index) => lessonMarkdown(lesson, index)),
    '',
  ].join('\n\n');
}

function lessonMarkdown({ title, goal, steps, question, id }: Lesson, index: number): string {
  const stops = steps.map(({ text, look, predict }, stop) =>
    [
      `${stop + 1}. ${text.join('\n\n   ')}`,
      ...look.map(({ panel, at }) => `   - ${panel}: ${at}`),
      ...(predict === undefined ? [] : predictionLines(predict)),
    ].join('\n\n'),
  );
  return [
    `## ${index + 1}. ${title}`,
    goal,
    `In the explorer: \`#view=playground&lesson=${id}\`.`,
    ...stops,
    `**Question.** ${question.ask}`,
    `**Answer.** ${question.answer}`,
  ].join('\n\n');
}

/** The answer stands in the next stop; its reason is folded away. */
function predictionLines({ ask, choices, right, because }: Prediction): string[] {
  const letters = choices.map((choice, index) => `(${letterOf(index)}) ${choice}`);
  return [
    `   **Predict.** ${ask} ${letters.join(' ')}`,
    `   <details><summary>What happens</summary>(${letterOf(right)}) ${because}</details>`,
  ];
}

const letterOf = (index: number): string => String.fromCharCode(0x61 + index);

/** As GitHub and GitLab make them. */
function anchorOf(title: string, index: number): string {
  return `${index + 1}-${title
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')}`;
}

const INTRODUCTION = [
  'The guided lessons of the playground (`npm run explorer`, tab Playground), as text. There every stop is a place in a real session: the stack',
  'runs in the page, one packet a step, and one may leave the lesson and try something else. A test follows each of them through the stack',
  'and checks what is promised at every stop. This page is made from `tools/explorer/lessons/*.json` by `vitest -u`.',
].join('\n');
