// The rows of one file of a diff, asked for once they are wanted, a stretch at a time.

import {useEffect, useRef, useState} from '../../vendor/preact.js';
import {read} from '../../core/api.js';

/** @typedef {import('../../core/shapes').DiffHunk} DiffHunk */

/**
 * @param {string} id the task
 * @param {string | null} run
 * @param {string} of the digest of the diff
 * @param {number} number the file's place in it
 * @param {boolean} wanted
 */
export function useHunks(id, run, of, number, wanted) {
  const [hunks, setHunks] = useState(/** @type {DiffHunk[]} */ ([]));
  const [next, setNext] = useState(/** @type {number | null} */ (0));
  const [problem, setProblem] = useState('');
  const more = () => {
    if (next === null) return;
    read(`tasks/${encodeURIComponent(id)}/diff/${number}`, {run, of, row: next, words: 1}).then((value) => {
      const part = /** @type {import('../../core/shapes').DiffPart} */ (value);
      setHunks((before) => (next === 0 ? part.hunks : [...before, ...part.hunks]));
      setNext(part.next_row);
      setProblem('');
    }, (error) => setProblem(error.message));
  };
  useEffect(() => { if (wanted && !hunks.length && next === 0) more(); }, [wanted]);
  return {hunks, more: next !== null && hunks.length ? more : null, problem};
}

/** Whether an element is in sight, or soon; once it was, it stays so. @param {boolean} already */
export function useNear(already) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [near, setNear] = useState(already);
  useEffect(() => {
    if (near || !box.current) return undefined;
    const watcher = new IntersectionObserver((all) => { if (all.some((each) => each.isIntersecting)) setNear(true); },
      {rootMargin: '1500px 0px'});
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [near]);
  return {box, near};
}
