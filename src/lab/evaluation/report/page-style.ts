/** The page's look: light, dark, on a phone, and on paper, where it is always light and what is folded is unfolded. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1e21; --faint: #5b6168; --rule: #d5d9de; --accent: #0b5cad; --alarm: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171a; --ink: #e4e6e9; --faint: #a2a9b1; --rule: #3b4148; --accent: #7fb9f5; --alarm: #ff8a80 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--rule) }
h3 { font-size: 1.08rem; margin: 1.6rem 0 .5rem }
h4 { font-size: 1rem; margin: 1rem 0 .3rem }
p, ul { max-width: 46rem }
ul { padding-left: 1.2rem }
.lead { font-size: 1.2rem; line-height: 1.4; border-left: 4px solid var(--accent); padding-left: .8rem }
.note, figcaption, .interval, dt { color: var(--faint) }
.note { font-size: .9rem }
.alarm { color: var(--alarm); font-weight: 600 }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem 2rem }
.pair > * { max-width: 36rem; min-width: 0 }
figure { margin: 0 }
figcaption { font-size: .95rem; margin-bottom: .2rem }
.drawing { --plot-background: var(--paper); width: 100%; height: auto; overflow: visible }
.wide { overflow-x: auto }
table { border-collapse: separate; border-spacing: 0; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--rule); vertical-align: top; overflow-wrap: normal }
thead th.number { white-space: normal }
thead th { vertical-align: bottom; color: var(--faint); font-weight: 600 }
tbody th { font-weight: 600; min-width: 7rem; max-width: 16rem }
.wide tbody th, .wide thead th:first-child { position: sticky; left: 0; background: var(--paper) }
.number { text-align: right; white-space: nowrap }
.short { white-space: nowrap }
.reason { color: var(--faint); font-style: italic; min-width: 14rem }
.marked td, .marked th { color: var(--alarm) }
.confusion td { background: color-mix(in srgb, var(--accent) calc(var(--share) * 45%), transparent) }
.matrices { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 0 1.5rem }
.matrices > * { min-width: 0; break-inside: avoid }
.slices { width: 100% }
.slices th:first-child { overflow-wrap: anywhere }
.slices td:last-child, .slices thead th:last-child { width: 45%; vertical-align: middle }
.bar { display: block; width: 100%; height: .9rem; background: color-mix(in srgb, var(--rule) 40%, transparent) }
.bar .reach { fill: var(--accent); opacity: .45 }
.bar .value { fill: var(--ink) }
.bar .whole { fill: var(--faint); opacity: .7 }
.values { columns: 14rem }
details { margin: .5rem 0 }
summary { cursor: pointer }
.case { border-bottom: 1px solid var(--rule); padding-bottom: .4rem }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: 3px solid var(--rule); max-width: 46rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .3rem 0; font-size: .9rem }
dt { max-width: 10rem }
dd { margin: 0 }
@media (max-width: 40rem) {
  main { padding: 1rem .8rem 3rem }
  h1 { font-size: 1.35rem }
  .lead { font-size: 1.08rem }
  .slices .interval { display: block }
  table { font-size: .82rem }
  th, td { padding: .25rem .4rem }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --faint: #444; --rule: #bbb; --accent: #0b5cad; --alarm: #a00 }
  @page { margin: 14mm 12mm }
  html { font-size: 10pt }
  body { font-size: 1rem }
  main { padding: 0; max-width: none }
  h1, h2, h3, h4, summary { break-after: avoid }
  tr, figure, .case, blockquote { break-inside: avoid }
  .wide { overflow: visible }
  .wide tbody th, .wide thead th:first-child { position: static }
  table { font-size: 7.5pt }
  th, td { padding: .15rem .3rem }
  tbody th { min-width: 0 }
  .number, .short { white-space: normal }
  .interval { white-space: nowrap }
  .pair { grid-template-columns: 1fr 1fr }
  details::details-content { content-visibility: visible; display: block; height: auto }
  .confusion td, .bar, .bar * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
`
