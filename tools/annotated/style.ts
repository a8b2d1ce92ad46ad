/** Looks and behaviour of the annotated connection: without either it is still all there to read. */

export const STYLE = `
:root { color-scheme: light dark; --back: light-dark(#fff, #16181c); --text: light-dark(#1a1c20, #e4e6ea);
  --quiet: light-dark(#5a616c, #9aa2ae); --line: light-dark(#d9dce1, #343943); --lit: light-dark(#ffe08a, #6b5310);
  --accent: light-dark(#0b5cad, #7db7f5); }
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; margin: 0; }
header { max-width: 72rem; margin: 0 auto; padding: 1rem 1rem 0; }
main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
a { color: var(--accent); }
.quiet { color: var(--quiet); font-size: 0.9em; }
details { border: 1px solid var(--line); border-radius: 5px; margin: 0.5rem 0; padding: 0.3rem 0.7rem; }
summary { cursor: pointer; }
.header { display: grid; grid-template-columns: minmax(16rem, 1fr) 2fr; gap: 1rem; align-items: start; }
.bytes { font-family: ui-monospace, monospace; overflow-wrap: anywhere; position: sticky; top: 0.5rem; margin: 0.5rem 0; }
dl { margin: 0.5rem 0; }
dl > div { padding: 0.2rem 0.4rem; border-radius: 4px; }
dt { font-weight: 600; }
dd { margin: 0 0 0.3rem; overflow-wrap: anywhere; }
.value { background: color-mix(in srgb, var(--line) 45%, transparent); padding: 0 0.3em; border-radius: 3px; }
.lit, .lit .quiet, .lit a { background: var(--lit); color: var(--text); }
@media (max-width: 45rem) { .header { grid-template-columns: 1fr; } .bytes { position: static; } }
`;

/**
 * A byte and its fields light up together, by mouse, by keys and by touch. The fields of a packet are one stop of the
 * tab key: arrows go from field to field, past those of folded headers; only the field that one is at offers its link.
 */
export const SCRIPT = `
const lit = (on) => document.querySelectorAll('.lit').forEach((one) => one.classList.remove('lit')) || on.forEach((one) => one.classList.add('lit'));
const show = (target) => {
  const span = target.closest('.bytes span'), field = target.closest('dl > div');
  if (span) lit([span, ...span.dataset.f.split(' ').map((id) => document.getElementById(id)).filter(Boolean)]);
  else if (field) lit([field, ...document.querySelectorAll('.bytes span[data-f~="' + field.id + '"]')]);
};
for (const event of ['mouseover', 'focusin', 'click']) document.addEventListener(event, ({ target }) => target instanceof Element && show(target));
const seen = (field) => field.closest('details').open;
const reach = (field, on) => [field, ...field.querySelectorAll('a')].forEach((one) => { one.tabIndex = on ? 0 : -1; });
const STEPS = { ArrowDown: (at) => at + 1, ArrowUp: (at) => at - 1, Home: () => 0, End: (at, last) => last };
for (const frame of document.querySelectorAll('.frame')) {
  const fields = [...frame.querySelectorAll('dl > div')];
  let current;
  const choose = (field) => { if (current) reach(current, false); if (field) reach(field, true); current = field; };
  const chooseSeen = () => { if (!current || !seen(current)) choose(fields.find(seen)); };
  for (const field of fields) reach(field, false);
  chooseSeen();
  frame.addEventListener('toggle', chooseSeen, true);
  frame.addEventListener('focusin', ({ target }) => { const field = target.closest('dl > div'); if (field && field !== current) choose(field); });
  frame.addEventListener('keydown', (event) => {
    const field = event.target.closest('dl > div'), step = STEPS[event.key];
    if (!field || !step || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const open = fields.filter(seen), last = open.length - 1;
    open[Math.min(last, Math.max(0, step(open.indexOf(field), last)))].focus();
    event.preventDefault();
  });
}
`;
