/** What has to hold for the site, whoever looks at it. Owns what the crawler cannot know: the explorer's addresses. */
import { LESSONS } from '../explorer/lessons/index.ts';
import { parseLesson } from '../explorer/playground/lesson.ts';
import { type CrawlReport, crawl } from './crawl.ts';
import { ROOT } from './links.ts';
import { HOME } from './template.ts';

/** Crawls a site that `buildSite` has written. */
export function checkSite(folder: string): CrawlReport {
  return crawl(folder, { start: HOME, state: explorerState, unspeakable: [ROOT.replace(/\/$/, '')] });
}

/** Whether the explorer shows something at such an address: the pages lead to lessons only. */
function explorerState(page: string, hash: string): boolean | undefined {
  if (!page.startsWith('explorer/')) return undefined;
  const { view, lesson = '', ...others } = Object.fromEntries(new URLSearchParams(hash));
  return view === 'playground' && LESSON_IDS.has(lesson) && Object.keys(others).length === 0;
}

const LESSON_IDS: ReadonlySet<string> = new Set(LESSONS.map((lesson) => parseLesson(lesson).id));
