/**
 * A uPlot chart as a component: as wide as there is room, in the colours of the page.
 *
 * Owns the life of the chart: made anew when its options, its size or the colours change, given new data otherwise.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { timeLabels } from './words.ts';

/** Colours of the page by the names of style.css. */
export type Palette = (
  name: 'back' | 'text' | 'quiet' | 'line' | 'accent' | 'bad' | 'odd' | 'good' | 'violet',
) => string;

interface Props {
  /** Makes the options for a size; a new function makes a new chart. */
  readonly options: (palette: Palette) => Omit<uPlot.Options, 'width' | 'height'>;
  readonly data: uPlot.AlignedData;
  readonly height: number;
  readonly label: string;
  /** Range of x that the user has drawn a frame around; two equal values ask for all of it. */
  readonly onRange?: (min: number, max: number) => void;
}

/** The chart. */
export function Chart({ options, data, height, label, onRange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  const range = useRef(onRange);
  range.current = onRange;
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    const repaint = (): void => setTheme((times) => times + 1);
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', repaint);
    addEventListener('themechange', repaint);
    return () => {
      observer.disconnect();
      media.removeEventListener('change', repaint);
      removeEventListener('themechange', repaint);
    };
  }, []);
  useEffect(() => {
    const element = box.current;
    if (element === null || width === 0) return undefined;
    const made = options(paletteOf(element));
    const plot = new uPlot(
      {
        ...made,
        width,
        height,
        cursor: { drag: { x: true, y: false, setScale: false }, ...made.cursor },
        hooks: { ...made.hooks, setSelect: [(self) => select(self, range.current)] },
      },
      latest.current,
      element,
    );
    plot.over.addEventListener('dblclick', () => range.current?.(0, 0));
    chart.current = plot;
    return () => {
      chart.current = undefined;
      plot.destroy();
    };
  }, [options, width, height, theme]);
  useEffect(() => chart.current?.setData(data), [data]);
  return <div class="chart" ref={box} role="img" aria-label={label} style={{ minHeight: `${height}px` }} />;
}

function select(plot: uPlot, onRange: Props['onRange']): void {
  const { left, width } = plot.select;
  if (width < LEAST_PIXELS || onRange === undefined) return;
  const [min, max] = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')];
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  onRange(min, max);
}

/** An axis in the colours of the page. */
export function axis(palette: Palette, more: uPlot.Axis): uPlot.Axis {
  return {
    stroke: palette('quiet'),
    grid: { stroke: palette('line'), width: 1 },
    ticks: { stroke: palette('line'), width: 1 },
    font: '12px system-ui, sans-serif',
    labelFont: '12px system-ui, sans-serif',
    ...more,
  };
}

/** An axis of nanoseconds since the first packet, in the largest unit that the times seen fill. */
export function timeAxis(palette: Palette): uPlot.Axis {
  return axis(palette, {
    values: (_plot, values) => timeLabels(values),
    space: 100,
  });
}

/** Reads colours as the browser works them out, for a canvas knows no variables. */
function paletteOf(element: HTMLElement): Palette {
  const probe = document.createElement('span');
  element.append(probe);
  const known = new Map<string, string>();
  for (const name of ['back', 'text', 'quiet', 'line', 'accent', 'bad', 'odd', 'good', 'violet']) {
    probe.style.color = `var(--${name})`;
    known.set(name, getComputedStyle(probe).color);
  }
  probe.remove();
  return (name) => known.get(name) ?? '#888';
}

const LEAST_PIXELS = 4;
