// The receipt: the verdict, what it rests on, what the run changed and what it cost.

import {html, useState} from '../../vendor/preact.js';
import {bytes, count, dollars, plural, seconds, span} from '../../core/format.js';
import {useLoaded} from '../../core/loaded.js';
import {link, route, setQuery} from '../../core/router.js';
import {visible, visibleLine} from '../../core/text.js';
import {CommandLine} from '../../parts/copy.js';
import {PlusMinus} from '../../parts/figures.js';
import {Mark, outcomeWords, toneOf, wordOf} from '../../parts/status.js';
import {Clock} from '../../parts/time.js';
import {Asked} from './asked.js';

/** @typedef {import('../../core/shapes').WholeTask} WholeTask */
/** @typedef {import('../../core/shapes').Receipt} Receipt */

/** Characters of an output that are shown at once: its end. */
const MOST = 4000;
const MEANS = {
  checked: 'Your verify commands passed on what the run left.',
  unchecked: 'Nothing contradicts the claim, and nothing proves it: there is no verify command.',
  rejected: 'The claim does not hold: what was seen speaks against it.',
  'out of scope': 'The run worked where it was not allowed to.',
};

/** @param {{whole: WholeTask, again: () => void}} props */
export function ReceiptTab({whole}) {
  const number = Number(route.value.query.get('run')) || null;
  const other = useLoaded(number && number !== whole.receipt?.run ? `tasks/${encodeURIComponent(whole.row.id)}/receipt`
    : null, {run: number});
  const receipt = /** @type {Receipt | null} */ (number && number !== whole.receipt?.run ? other.value : whole.receipt);
  const over = whole.runs.filter((run) => run.has_receipt);
  return html`<div class="columns"><div class="wide">
    ${over.length > 1 ? html`<div class="switch runs-switch" role="group" aria-label="Run">
      ${over.map((run) => html`<button key=${run.number} aria-pressed=${run.number === receipt?.run}
      onClick=${() => setQuery({run: String(run.number)})}>Run ${run.number}</button>`)}</div>` : ''}
    ${receipt ? html`<${Shown} receipt=${receipt} id=${whole.row.id}/>` : html`<${None} whole=${whole}/>`}
  </div><aside class="narrow"><${Asked} whole=${whole}/></aside></div>`;
}

/** @param {{whole: WholeTask}} props */
function None({whole}) {
  const {row} = whole;
  return html`<div class="no-receipt">${row.run
    ? html`<p><b>The run is not over.</b> Its receipt is written when it is: verdict, rules, checks, changes, cost.</p>
      <p><a class="link" href=${link('task', row.id, 'transcript')}>See what the agent does</a> <kbd>l</kbd></p>`
    : html`<p><b>No run is over yet.</b> ${row.reason ? html`${visible(row.reason)}.` : ''}</p>
      ${row.way_on ? html`<${CommandLine} line=${row.way_on.line}/>` : ''}`}</div>`;
}

/** @param {Receipt} receipt */
function verdictOf(receipt) {
  const {verdict} = receipt;
  if (!verdict || receipt.claim === null) return null;
  if (verdict.trespasses.length) return 'out of scope';
  if (verdict.findings.length) return 'rejected';
  return verdict.checked ? 'checked' : 'unchecked';
}

/** @param {{receipt: Receipt, id: string}} props */
function Shown({receipt, id}) {
  const state = verdictOf(receipt);
  const findings = [...receipt.verdict?.trespasses ?? [], ...receipt.verdict?.findings ?? []];
  const {changes} = receipt;
  const files = changes?.files ?? [];
  return html`
    <section class="verdict ${state ? toneOf(state) : 'calm'}" aria-label="Verdict">
      <${Mark} name=${state ?? 'stopped'} silent/>
      <div><h2>${state ? wordOf(state) : `Run ${receipt.run} made no claim: ${outcomeWords(receipt.outcome)
        || 'it is not known how it ended'}`}</h2>
        <p>${state ? MEANS[state] : visible(receipt.why)}</p></div>
    </section>
    ${findings.length ? html`<section><h3>Rules broken</h3>
      <ul class="findings">${findings.map((finding) =>
      html`<li><code class="rule">${finding.rule}</code><span dir="auto">${visible(finding.what)}</span></li>`)}</ul>
      </section>` : ''}
    <section><h3>Checks</h3>${receipt.checks.length
      ? html`<ul class="checks">${receipt.checks.map((check) => html`<li><${Check} check=${check}/></li>`)}</ul>`
      : html`<p class="soft">None ran.${receipt.policy.verify.length ? ''
        : html` With a verify command fleet proves the work itself:
          ${' '}<code>fleet config set --project . verify='make test'</code>`}</p>`}</section>
    ${receipt.claim !== null ? html`<section><h3>The agent's claim</h3>
      <p class="claim" dir="auto">${visible(receipt.claim || 'closed without a word')}</p></section>` : ''}
    ${receipt.text && receipt.text !== receipt.claim
      ? html`<section><h3>Its last words</h3><p class="claim" dir="auto">${visible(receipt.text)}</p></section>` : ''}
    <section><h3>Changes${changes ? html` <span class="faint">
      ${plural(files.length + changes.more, 'file')}${changes.commits.length
      ? `, ${plural(changes.commits.length, 'commit')}` : ''}</span>` : ''}</h3>
      ${changes?.trouble ? html`<p class="warn">${visible(changes.trouble)}</p>` : ''}
      ${files.length ? html`<ul class="changes">
        ${files.slice(0, 40).map((file) => html`<li>
        <a href="${link('task', id, 'diff')}?file=${encodeURIComponent(file.path)}">
        <span class="kind ${file.kind}" title=${file.kind}>${{added: 'A', changed: 'M', deleted: 'D'}[file.kind]}</span>
          <span class="path mono cut" dir="auto">${visibleLine(file.path)}</span><${PlusMinus} ...${file}/></a></li>`)}</ul>
          ${files.length > 40 || changes?.more
            ? html`<p class="faint">and ${files.length - 40 + (changes?.more ?? 0)} more in the <a class="link"
            href=${link('task', id, 'diff')}>diff</a></p>` : ''}`
        : html`<p class="soft">${changes ? 'No file differs.'
          : 'The directory is in no git repository: fleet does not know.'}</p>`}
      ${changes?.lost_files ? html`<p class="bad">
        ${plural(changes.lost_files, 'file')} lost (${bytes(changes.lost_bytes)})</p>` : ''}
      ${receipt.rejected_work.map((left) => html`<p class="warn" dir="auto">Left over from run ${left.run}, which was
        rejected (${left.rules.join(', ')}): ${visible(left.files.slice(0, 20).join(', '))}${left.files.length > 20
        ? ` and ${left.files.length - 20} more` : ''}. Without it: <code>fleet retry --fresh ${id}</code></p>`)}
    </section>
    <section><h3>What it used</h3><${Used} receipt=${receipt}/></section>
    ${receipt.commands.length ? html`<section>
      <h3>Commands <span class="faint">${receipt.commands.length + receipt.more_commands}</span></h3>
      <ul class="commands">${receipt.commands.map((command) =>
        html`<li class=${command.failed || command.denied || command.unended ? 'failed' : ''}>
        <details open=${false}><summary><span class="how">${command.denied ? 'denied' : command.unended ? 'cut off'
        : command.failed ? 'failed' : 'ok'}</span>
        <code class="cut" dir="auto">${visible(command.text.split('\n', 1)[0])}</code></summary>${command.tail
          ? html`<${Output} text=${command.tail}/>`
          : html`<p class="faint small">It printed nothing that was kept.</p>`}</details></li>`)}</ul></section>`
          : ''}`;
}

/** @param {{check: import('../../core/shapes').Check}} props */
export function Check({check}) {
  const passed = check.code === 0 && !check.trouble;
  return html`<details open=${!passed}><summary><${Mark} name=${passed ? 'checked'
    : 'failed'} silent/><code class="cut" dir="auto">${visible(check.command)}</code>
      <span class="${passed ? 'good' : 'bad'} how">${passed ? 'passed' : check.timed_out ? 'took too long'
        : check.trouble ? 'could not run' : `failed, exit ${check.code}`}</span>
        <span class="faint">${seconds(check.seconds)}</span></summary>
    ${check.trouble ? html`<p class="bad">${visible(check.trouble)}</p>` : ''}
    ${check.restored.length
      ? html`<p class="warn small">Ran with the original ${check.restored.join(', ')}: the agent had changed it.</p>`
      : ''}
    ${check.lacks.length ? html`<p
      class="soft small">The checkout has not: ${check.lacks.join(', ')} (git ignores it)</p>` : ''}
    ${check.tail ? html`<${Output} text=${check.tail}/>` : html`<p class="faint small">It printed nothing.</p>`}
      </details>`;
}

/** @param {{receipt: Receipt}} props */
function Used({receipt}) {
  const {usage} = receipt;
  const told = receipt.cost_usd !== null ? dollars(receipt.cost_usd) : receipt.estimated_usd !== null
    ? `~${dollars(receipt.estimated_usd)}, estimated from tokens and prices` : 'unknown: its CLI told none';
  const tools = Object.entries(receipt.tools).sort((a, b) => b[1] - a[1]).map(([name, n]) => `${name} ${n}`).join(', ');
  const facts = /** @type {[string, unknown][]} */ ([
    ['Cost', html`${told}${receipt.partial ? html` <span class="warn">at least: it was cut off uncounted</span>`
      : ''}`],
    ['Tokens', usage.input + usage.output + usage.cache_read + usage.cache_write
      ? `${count(usage.input)} in, ${count(usage.output)} out, ${count(usage.cache_read)} from cache, `
        + `${count(usage.cache_write)} into cache` : 'not told'],
    ['Time', html`${receipt.seconds === null ? 'not known' : span(receipt.seconds)}${receipt.started_at
      ? html` <span class="faint">from <${Clock} at=${receipt.started_at}/></span>` : ''}`],
    ['Turns', String(receipt.turns || '–')],
    ['Tools', tools || 'none'],
    ['Ended', `${outcomeWords(receipt.outcome)}${receipt.why ? `: ${receipt.why}` : ''}`],
    ['CLI', [receipt.coder, receipt.version, receipt.model, receipt.account
      && `account ${receipt.account}`].filter(Boolean).join(' · ')],
    ['Machine', [receipt.cpu_seconds !== null && `${span(receipt.cpu_seconds)} of CPU`, receipt.memory_bytes !== null
      && bytes(receipt.memory_bytes), receipt.swept.length
      && `${plural(receipt.swept.length, 'process', 'processes')} left behind and ended`].filter(Boolean).join(', ')
      || 'not known'],
  ]);
  return html`<dl class="used">${facts.map(([name, value]) =>
    html`<div><dt>${name}</dt><dd dir="auto">${typeof value === 'string' ? visible(value) : value}</dd></div>`)}</dl>`;
}

/** The end of what a command printed, as it is: control characters as marks. @param {{text: string}} props */
function Output({text}) {
  const [all, setAll] = useState(false);
  const long = text.length > MOST;
  return html`<div class="output-box"><pre class="output" tabindex="0" aria-label="Output">${visible(all || !long
    ? text : text.slice(-MOST))}</pre>
    ${long && !all ? html`<button class="button plain"
      onClick=${() => setAll(true)}>All ${text.length.toLocaleString('en')} characters</button>` : ''}</div>`;
}
