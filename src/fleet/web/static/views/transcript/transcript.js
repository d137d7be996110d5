// What the agent said and did. It follows at the live end and stays put while one reads.

import {html, useEffect, useLayoutEffect, useMemo, useRef, useState} from '../../vendor/preact.js';
import {useKeys} from '../../core/keys.js';
import {route, setQuery} from '../../core/router.js';
import {rowOf} from '../../core/store.js';
import {TranscriptPages} from './pages.js';
import {valueOf} from '../../parts/act_dialog.js';
import {Chunk, foldAll} from './entry.js';
import {Problem} from '../../parts/problem.js';
import {Hits} from './hits.js';

const scroller = () => document.getElementById('main');
/** @param {Element} element */
const topOf = (element) => /** @type {HTMLElement} */ (element).offsetTop;
/** Nearer to the end than this counts as at the end. */
const AT_END = 40;

/** @param {{id: string, live: boolean}} props */
export function TranscriptTab({id, live}) {
  const pages = useMemo(() => new TranscriptPages(id), [id]);
  const at = Number(route.value.query.get('at') ?? NaN);
  const [following, setFollowing] = useState(Number.isNaN(at));
  const follows = useRef(following);
  follows.current = following;
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const anchor = useRef(/** @type {{element: Element, top: number} | null} */ (null));
  const {chunks, size, end, start, problem, fresh} = pages.state.value;

  useEffect(() => {
    void (Number.isNaN(at) ? pages.fromEnd() : pages.around(at));
    return () => pages.stop();
  }, [pages, at]);

  // What is new is asked for when the row says that something happened, and now and then besides.
  const events = rowOf(id)?.run?.events ?? 0;
  useEffect(() => { void pages.forward(); }, [events, live]);
  useEffect(() => {
    const timer = live ? setInterval(() => { if (!document.hidden) void pages.forward(); }, 1500) : 0;
    return () => clearInterval(timer);
  }, [pages, live]);

  // What comes before is put above what one reads, which stays where it is.
  useLayoutEffect(() => {
    const main = scroller();
    const held = anchor.current;
    if (main && held && list.current?.contains(held.element)) main.scrollTop += topOf(held.element) - held.top;
    const first = list.current?.firstElementChild;
    anchor.current = first ? {element: first, top: topOf(first)} : null;
  }, [chunks[0]?.key]);
  useLayoutEffect(() => {
    const main = scroller();
    if (follows.current && main && pages.atLiveEnd) main.scrollTop = main.scrollHeight;
  });
  useLayoutEffect(() => {
    if (Number.isNaN(at)) return;
    const found = document.querySelector(`[data-at="${at}"]`);
    found?.scrollIntoView({block: 'center'});
  }, [at, chunks.length > 0]);

  useEffect(() => {
    const main = scroller();
    if (!main) return undefined;
    let before = main.scrollTop;
    const moved = () => {
      const left = main.scrollHeight - main.scrollTop - main.clientHeight;
      // Only a person scrolls up: what grows at the end does not.
      if (main.scrollTop < before - 2 && left > AT_END) setFollowing(false);
      else if (left < AT_END && pages.atLiveEnd) { setFollowing(true); pages.seen(); }
      before = main.scrollTop;
      if (main.scrollTop < 1500) void pages.backward();
      if (left < 1500) void pages.forward();
    };
    main.addEventListener('scroll', moved, {passive: true});
    return () => main.removeEventListener('scroll', moved);
  }, [pages]);

  const toEnd = () => {
    setFollowing(true);
    pages.seen();
    if (!pages.atLiveEnd) void pages.fromEnd();
    if (!Number.isNaN(at)) setQuery({at: null});
    const main = scroller();
    if (main) main.scrollTop = main.scrollHeight;
  };
  const toStart = () => {
    setFollowing(false);
    void pages.fromStart().then(() => scroller()?.scrollTo(0, 0));
  };
  const wanted = route.value.query.get('find') ?? '';
  useKeys('Transcript', [
    {keys: 'f', label: following ? 'stay here' : 'follow the end',
      run: () => (following ? setFollowing(false) : toEnd())},
    {keys: 'g', label: 'to the beginning', run: toStart},
    {keys: 'G', label: 'to the end', run: toEnd},
    {keys: 'j ArrowDown', label: 'down', run: () => scroller()?.scrollBy(0, 60)},
    {keys: 'k ArrowUp', label: 'up', run: () => scroller()?.scrollBy(0, -60)},
    {keys: 'z', label: 'unfold or fold everything', run: foldAll},
    {keys: '/', label: 'search in the whole', run: () => input.current?.focus()},
    {keys: 'Escape', label: 'end the search', run: () => {
      if (document.activeElement === input.current) input.current?.blur();
      else if (wanted) setQuery({find: null, at: null});
      else return false;
      return true;
    }},
  ]);
  const percent = size ? Math.round((100 * start) / size) : 0;
  return html`<section class="transcript" aria-label="Transcript">
    <div class="tab-bar">
      <label class="filter"><span class="unseen">Search in the transcript</span>
        <input ref=${input} type="search" placeholder="Search in the whole transcript" value=${wanted}
        spellcheck=${false}
        onInput=${(/** @type {InputEvent} */ event) => setQuery({find: valueOf(event), at: null})}/><kbd>/</kbd></label>
      <span class="grow"></span>
      <button class="button plain" onClick=${toStart}>Beginning <span class="key">g</span></button>
      <button class="button ${following ? 'on'
        : ''}" aria-pressed=${following} onClick=${() => (following ? setFollowing(false) : toEnd())}>${live
        ? (following ? 'Following' : 'Follow') : 'End'} <span class="key">f</span></button>
    </div>
    ${wanted ? html`<${Hits} id=${id} wanted=${wanted}/>` : ''}
    ${problem ? html`<${Problem} problem=${problem}/>` : ''}
    ${start > 0 && chunks.length
      ? html`<p class="earlier faint">earlier, ${percent} % of the transcript, comes as you scroll up</p>` : ''}
    <div class="entries" role="log" aria-live="off" ref=${list}>
      ${chunks.map((chunk) => html`<${Chunk} key=${chunk.key} chunk=${chunk} here=${at}/>`)}</div>
    ${!chunks.length && !problem && size === 0 && pages.asked
      ? html`<div class="empty"><h2>Nothing was said yet</h2>
      <p>What the agent says and does appears here as it happens.</p></div>` : ''}
    ${live && following && chunks.length ? html`<p class="at-end faint">live</p>` : ''}
    ${!following && (fresh > 0 || end < size) ? html`<button class="button main to-end" onClick=${toEnd}>↓ ${fresh > 0
      ? `${fresh} new` : 'to the end'}</button>` : ''}
  </section>`;
}
