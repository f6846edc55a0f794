import { Html } from './html.ts';

/** The style of the page, on screens and on paper. */
export const STYLE = new Html(`
:root { color-scheme: light; }
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin: 0; font-size: 1.7rem; } h2 { margin: 2rem 0 .5rem; font-size: 1.2rem; border-bottom: 2px solid #d0d7de; } h3 { margin: 1.2rem 0 .3rem; font-size: 1rem; }
.range { margin: .2rem 0 1rem; color: #57606a; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; } dt { color: #57606a; } dd { margin: 0; }
.overview { border: 1px solid #d0d7de; border-radius: 6px; padding: .8rem 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; font-size: .9rem; }
th, td { border: 1px solid #d0d7de; padding: .25rem .5rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { background: #f6f8fa; overflow-wrap: normal; } thead { display: table-header-group; } tr { break-inside: avoid; }
code { font-size: .85em; overflow-wrap: anywhere; } a { color: #0550ae; }
.none, .unassessed { color: #57606a; font-size: .9rem; overflow-wrap: anywhere; }
.state { white-space: nowrap; border: 1px solid #8c959f; border-radius: 4px; padding: 0 .35rem; } .state b { display: inline-block; width: 1em; text-align: center; }
.contradicted { background: #ffebe9; border: 2px solid #a40e26; } .shown { background: #dafbe1; border-color: #116329; }
.declared { background: #ddf4ff; border-color: #0550ae; } .not-declared { background: #fff8c5; border-color: #7d4e00; }
summary { font-weight: 600; padding: .4rem 0; } details { margin-top: .8rem; border-top: 1px solid #d0d7de; }
.legend { margin-top: .6rem; font-size: .9rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } }
@media print {
  body { font-size: 9.5pt; max-width: none; padding: 0; } h2, h3, summary { break-after: avoid; } a { color: inherit; text-decoration: none; }
  .state { print-color-adjust: exact; } @page { margin: 14mm; }
}`);
