/** The style sheet of the site's pages: light and dark, from 390 pixels on. Nothing in it is fetched from elsewhere. */

export const STYLE = `:root { color-scheme: light dark; --back: light-dark(#fff, #16181c); --text: light-dark(#1a1c20, #e4e6ea);
  --quiet: light-dark(#5a616c, #9aa2ae); --line: light-dark(#d9dce1, #343943); --lit: light-dark(#fff3c4, #3d3212);
  --shade: light-dark(#f4f5f7, #1e2127); --accent: light-dark(#0b5cad, #7db7f5); }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { background: var(--back); color: var(--text); font: 16px/1.55 system-ui, sans-serif; margin: 0; overflow-wrap: break-word; }
header { border-bottom: 1px solid var(--line); background: var(--shade); }
header ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; list-style: none; margin: 0 auto; padding: 0.6rem 1rem; max-width: 76rem; }
header li:first-child { font-weight: 700; }
header a { text-decoration: none; }
header a:hover, header a[aria-current] { text-decoration: underline; text-underline-offset: 0.3em; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem 1rem 4rem; }
main > p, main > ul, main > ol, main > blockquote { max-width: 52rem; }
a { color: var(--accent); }
h1, h2, h3, h4 { line-height: 1.25; margin: 2rem 0 0.7rem; }
h1 { margin-top: 0.5rem; font-size: 1.9rem; }
h2 { border-top: 1px solid var(--line); padding-top: 1.1rem; }
:target { background: var(--lit); }
main:target { background: none; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
:not(pre) > code { background: var(--shade); padding: 0.1em 0.3em; border-radius: 3px; }
pre { background: var(--shade); border: 1px solid var(--line); border-radius: 5px; padding: 0.7rem 0.9rem; overflow-x: auto; line-height: 1.4; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.95em; }
th, td { border: 1px solid var(--line); padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; min-width: 3rem; }
th { background: var(--shade); }
img { max-width: 100%; height: auto; background: #fff; }
blockquote { border-left: 4px solid var(--line); margin: 1rem 0; padding: 0.1rem 1rem; color: var(--quiet); }
details { border: 1px solid var(--line); border-radius: 5px; padding: 0.4rem 0.8rem; margin: 0.8rem 0; }
summary { cursor: pointer; }
.quiet { color: var(--quiet); }
.skip { position: absolute; left: -100rem; background: var(--back); padding: 0.5rem 1rem; }
.skip:focus { left: 0.5rem; top: 0.5rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1rem; padding: 0; list-style: none; max-width: none; }
.cards li { border: 1px solid var(--line); border-radius: 6px; padding: 0.8rem 1rem; }
.cards a { font-weight: 600; }
.cards p { margin: 0.3rem 0 0; }
.source { counter-reset: line; white-space: pre; padding-left: 0; }
.source span::before { counter-increment: line; content: counter(line); display: inline-block; width: 3.5em; margin-right: 1em; text-align: right; color: var(--quiet); }
`;
