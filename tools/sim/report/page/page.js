/**
 * What a report does in the browser: draws each plot of the data in the page with uPlot, as wide as its place and in
 * the colours of the reader's scheme. Everything else of the page is there without it. Takes nothing from a network.
 */
const data = JSON.parse(document.getElementById('data').textContent);
const dark = window.matchMedia('(prefers-color-scheme: dark)');
// Okabe and Ito's colours, told apart by nearly everybody; black and yellow replaced for both grounds.
const colours = () =>
  dark.matches
    ? ['#56b4e9', '#e69f00', '#2fbf8f', '#e38bc0', '#f0e442', '#7aa7ff', '#ff7f50', '#b9c0ca']
    : ['#0072b2', '#d55e00', '#009e73', '#b5568c', '#8a6d00', '#3f51b5', '#c0392b', '#555c66'];
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const made = [];

function number(value) {
  if (value === null || value === undefined) return '';
  if (value === 0) return '0';
  const size = Math.abs(value);
  for (const [from, sign] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ])
    if (size >= from) return `${Number((value / from).toPrecision(4))} ${sign}`;
  return String(Number(value.toPrecision(4)));
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(label, more) {
  return {
    label,
    labelSize: 22,
    labelFont: '12px system-ui, sans-serif',
    font: '12px system-ui, sans-serif',
    stroke: css('--quiet'),
    grid: { stroke: css('--grid'), width: 1 },
    ticks: { stroke: css('--grid'), width: 1 },
    values: (_, splits) => splits.map(number),
    ...more,
  };
}

function options(plot, width) {
  const palette = colours();
  return {
    width,
    height: Math.max(220, Math.min(320, Math.round(width * 0.55))),
    scales: { x: { time: false, distr: plot.logX ? 3 : 1 }, y: { distr: plot.logY ? 3 : 1, range: range(plot) } },
    axes: [axis(plot.x), axis(plot.y, { size: 62 })],
    legend: { live: plot.lines.length <= 12 },
    cursor: { focus: { prox: 24 } },
    focus: { alpha: 0.3 },
    series: [
      { label: plot.x, value: (_, value) => number(value) },
      ...plot.lines.map(({ label, colour, dash, points }) => ({
        label,
        stroke: colour < 0 ? css('--ink') : palette[colour % palette.length],
        width: 1.6,
        dash: dashes[dash % dashes.length],
        spanGaps: true,
        points: { show: points === true },
        ...(points === true ? { size: 6 } : {}),
        ...(plot.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
        value: (_, value) => number(value),
      })),
    ],
  };
}

/** From 0 where figures are linear, so that a flat line looks flat. */
function range(plot) {
  if (plot.logY) return undefined;
  return (_, min, max) => {
    const top = max > 0 ? max * 1.05 : 1;
    return [Math.min(0, min), plot.top === undefined ? top : Math.max(top, plot.top)];
  };
}

/** Lines have their own places on the x axis; uPlot wants one. */
function table(plot) {
  return uPlot.join(plot.lines.map(({ x, y }) => [x, y]));
}

function draw(place, plot) {
  const entry = made.find((one) => one.place === place);
  if (entry !== undefined) {
    entry.chart.destroy();
    made.splice(made.indexOf(entry), 1);
  }
  const width = Math.floor(place.clientWidth);
  if (width === 0) return;
  made.push({ place, plot, width, chart: new uPlot(options(plot, width), table(plot), place) });
}

const places = [...document.querySelectorAll('[data-plot]')];
for (const place of places) {
  const plot = data.plots[Number(place.dataset.plot)];
  draw(place, plot);
  new ResizeObserver(() => {
    const entry = made.find((one) => one.place === place);
    if (entry === undefined || Math.abs(entry.width - place.clientWidth) > 1) draw(place, plot);
  }).observe(place);
}
dark.addEventListener('change', () => {
  for (const { place, plot } of [...made]) draw(place, plot);
});
