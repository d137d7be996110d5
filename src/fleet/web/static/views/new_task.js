// A new task, with everything that `fleet bd create` takes.

import {html, useState} from '../vendor/preact.js';
import {allowed} from '../core/acts.js';
import {write} from '../core/api.js';
import {useKeys} from '../core/keys.js';
import {useLoaded} from '../core/loaded.js';
import {back, go, link, route} from '../core/router.js';
import {order, rowOf} from '../core/store.js';
import {tell} from '../core/tell.js';
import {valueOf} from '../parts/act_dialog.js';

/** @typedef {Record<string, string>} Fields */

/** fleet's own flags, in the order of the form. @type {[string, string, string][]} */
const PROOF = [
  ['verify', 'Verify commands, one a line', 'pytest -q'],
  ['scope', 'Where files may be changed, one a line', 'src/**'],
  ['pin', 'Files that verify needs as they were, one a line', 'tests'],
];
/** @type {[string, string, string][]} */
const LIMITS = [
  ['budget', 'Budget, all runs together', '$5'], ['max-cost', 'Cost of one run', '$2'],
    ['timeout', 'Time of one run', '2h'],
  ['max-turns', 'Turns of one run', '100'], ['max-tokens', 'Tokens of one run', '2M'],
    ['max-idle', 'Idle for at most', '10m'],
  ['max-memory', 'Memory', '4G'], ['max-processes', 'Processes', '200'], ['max-output', 'Output', '100M'],
];
const PRIORITIES = {'': '2, normal', 0: '0, now', 1: '1, soon', 3: '3, later', 4: '4, some day'};
const MANY = new Set(['verify', 'scope', 'pin', 'needs']);
const KEPT = 'fleet.new';

/** @returns {Fields} */
function begun() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? '') ?? {};
  } catch {
    return {};
  }
}

export function NewTask() {
  const [fields, setFields] = useState(begun);
  const [wrong, setWrong] = useState('');
  const [busy, setBusy] = useState(false);
  const {value: choices} = useLoaded('places');
  const known = /** @type {import('../core/shapes').KnownPlaces | null} */ (choices);
  const rows = order.value.flatMap((id) => rowOf(id) ?? []);
  const projects = unique([...known?.projects.map((each) => each.path) ?? [], ...rows.map((row) => row.project)]);
  const cwd = fields.cwd ?? route.value.query.get('project') ?? projects[0] ?? '';
  const set = (/** @type {string} */ name) => (/** @type {Event} */ event) => {
    const next = {...fields, [name]: valueOf(event)};
    setFields(next);
    sessionStorage.setItem(KEPT, JSON.stringify(next));
  };
  const create = async () => {
    if (busy || !(fields.title ?? '').trim()) { setWrong('A task needs a title.'); return; }
    setBusy(true);
    try {
      const end = /** @type {import('../core/shapes').ActEnd} */ (await write('acts/create', wish({...fields, cwd})));
      sessionStorage.removeItem(KEPT);
      tell({kind: 'done', text: end.words, line: end.line});
      go(link('task', end.id));
    } catch (error) {
      setBusy(false);
      const hint = error instanceof Error && 'hint' in error ? error.hint : '';
      setWrong(error instanceof Error ? inLabels(`${error.message}. ${hint}`) : String(error));
    }
  };
  useKeys('New task', [{keys: 'Ctrl-Enter Ctrl-S', label: 'create', run: () => void create()},
    {keys: 'Escape', label: 'back', run: () => {
    if (document.activeElement?.matches('input, textarea, select')
      && document.activeElement instanceof HTMLElement) document.activeElement.blur();
    else back();
  }}]);
  const text = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ hint, rows = 0) =>
    html`<label>${label}${rows
    ? html`<textarea rows=${rows} dir="auto" placeholder=${hint} value=${fields[name] ?? ''} onInput=${set(name)}>
      </textarea>`
    : html`<input list=${known && name in LISTS ? `list-${name}` : undefined} placeholder=${hint} value=${fields[name]
      ?? ''} autocomplete="off" spellcheck=${false} onInput=${set(name)}/>`}</label>`;
  const choice = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string[]} */ all,
    /** @type {Record<string, string>} */ words = {}) => html`<label>${label}
      <select value=${fields[name] ?? ''} onChange=${set(name)}>${all.map((each) =>
        html`<option value=${each}>${words[each] ?? (each || 'as configured')}</option>`)}</select></label>`;
  if (!allowed('stop')) return html`<div class="view"><header class="head"><h1>New task</h1></header>
    <p class="soft">This session may not create tasks.</p></div>`;
  return html`<div class="view new-task"><header class="head"><h1>New task</h1></header>
    <form class="form" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); void create(); }}>
      <label>Title<input autofocus data-title dir="auto" placeholder="Fix the login page" value=${fields.title
        ?? ''} onInput=${set('title')} onKeyDown=${(/** @type {KeyboardEvent} */ event) =>
        { if (event.key === 'Enter' && !event.ctrlKey) event.preventDefault(); }}/></label>
      <label>Project <span class="note">the directory that the agent works on</span>
        <input list="list-projects" value=${cwd} placeholder="/path/to/project" spellcheck=${false}
        onInput=${set('cwd')}/></label>
      ${projects.length > 1 ? html`<div class="choice-list">
        ${projects.slice(0, 6).map((each) => html`<button type="button" class="button ${each === cwd ? 'on' : ''}"
        title=${each} onClick=${() => setFields({...fields, cwd: each})}>${each.split('/').pop()}</button>`)}</div>`
        : ''}
      ${text('description', 'What should be done', 'It forgets the password field …', 4)}
      ${text('acceptance', 'When it is done', 'Tests that cover it pass', 2)}
      <div class="pair">${choice('priority', 'Priority', ['', '0', '1', '3', '4'], PRIORITIES)}${choice('type', 'Type',
        ['', 'bug', 'feature', 'chore', 'epic'], {'': 'task'})}${text('labels', 'Labels, with commas', 'ui, login')}
        </div>
      <div class="pair">${text('coder', 'Coder', known?.coder || 'as configured')}${text('model', 'Model', known?.model
        || 'as configured')}${text('account', 'Account', 'as configured')}</div>
      <details><summary>Proof: how fleet checks the work</summary><div>${PROOF.map(([name, label, hint]) => text(name,
        label, hint, 2))}${choice('expect', 'What a claim has to show', ['', 'change', 'artifact', 'nothing'])}</div>
        </details>
      <details><summary>Order: what it waits for</summary><div class="pair">${text('depends_on',
        'Waits for, with commas', 'fleet-x4f')}${text('blocks', 'Others wait for it', 'fleet-9kc')}${text('parent',
        'Part of', 'fleet-abc')}</div></details>
      <details><summary>Limits and budget</summary><div class="pair">${LIMITS.map(([name, label, hint]) => text(name,
        label, hint))}</div></details>
      <details><summary>Where and how it runs</summary><div><div class="pair">${choice('work-in', 'Where in git',
        ['', 'clone', 'directory'])}${choice('sandbox', 'Box', ['', 'workspace', 'strict'])}${choice('load', 'Context',
        ['', 'full', 'project', 'lean'])}${text('fallback', 'Where to go without room',
        'account:spare, coder:codex')}${text('assignee', 'Assignee', '')}</div>
        ${text('needs', 'What the agent must have, one a line', 'mcp:github', 2)}${text('design', 'Design', '',
          3)}${text('notes', 'Notes', '', 2)}</div></details>
      ${wrong ? html`<p class="wrong" role="alert">${wrong}</p>` : ''}
      <div class="form-foot"><button type="submit" class="button main"
        disabled=${busy}>Create <span class="key">Ctrl ↵</span></button>
        <code class="faint cut">${commandLine({...fields, cwd})}</code></div>
      <datalist id="list-projects">${projects.map((each) => html`<option value=${each}></option>`)}</datalist>
      ${Object.entries(LISTS).map(([name, from]) =>
        html`<datalist id="list-${name}">${unique([...known?.[from] ?? []]).map((each) => html`<option value=${each}>
        </option>`)}</datalist>`)}
    </form></div>`;
}

const LISTS = /** @type {Record<string, 'coders' | 'accounts'>} */ ({coder: 'coders', account: 'accounts'});
const OWN = ['coder', 'model', 'account', 'expect', 'work-in', 'sandbox', 'load', 'fallback', 'needs',
  ...PROOF.map(([name]) => name), ...LIMITS.map(([name]) => name)];
const PLAIN = ['title', 'cwd', 'description', 'acceptance', 'design', 'notes', 'type', 'parent', 'assignee'];

/** What the form calls a field, by the name of its flag. @type {Record<string, string>} */
const LABELS = Object.fromEntries([...PROOF, ...LIMITS, ['coder', 'Coder'], ['model', 'Model'], ['account', 'Account'],
  ['cwd', 'Project'], ['expect', 'What a claim has to show'], ['work-in', 'Where in git'], ['sandbox', 'Box'],
  ['load', 'Context'], ['fallback', 'Where to go without room'], ['needs', 'What the agent must have']]
  .map(([name, label]) => [name, label.split(',', 1)[0]]));

/** A refusal in the words of the form: a field for its flag. @param {string} text */
const inLabels = (text) => text.replace(/--([a-z-]+)/g, (flag, name) => (LABELS[name] ? `“${LABELS[name]}”` : flag));

/** @param {string[]} all */
const unique = (all) => [...new Set(all.filter(Boolean))];
/** @param {string | undefined} text @param {RegExp} by */
const parts = (text, by) => (text ?? '').split(by).map((each) => each.trim()).filter(Boolean);

/** The fields as the act takes them. @param {Fields} fields */
function wish(fields) {
  /** @type {Record<string, unknown>} */
  const found = {};
  for (const name of PLAIN) if (fields[name]?.trim()) found[name] = fields[name].trim();
  if (fields.priority) found.priority = Number(fields.priority);
  for (const name of ['labels', 'depends_on', 'blocks']) if (fields[name]?.trim()) found[name] = parts(fields[name],
    /[,\s]+/);
  /** @type {Record<string, string | string[]>} */
  const flags = {};
  for (const name of OWN) if (fields[name]?.trim()) flags[name] = MANY.has(name) ? parts(fields[name], /\n/)
    : fields[name].trim();
  if (Object.keys(flags).length) found.flags = flags;
  return found;
}

/** The command line that it stands for. @param {Fields} fields */
function commandLine(fields) {
  const quote = (/** @type {string} */ text) => (/^[\w./:,@%+-]+$/.test(text) ? text
    : `'${text.split('\n', 1)[0].replaceAll("'", "'\\''")}${text.includes('\n') ? '…' : ''}'`);
  const flags = Object.entries(fields).filter(([name, value]) => value?.trim()
    && name !== 'title').map(([name, value]) => `--${name === 'depends_on' ? 'deps' : name} ${quote(value.trim())}`);
  return ['fleet bd create', quote((fields.title ?? '…').trim() || '…'), ...flags].join(' ');
}
