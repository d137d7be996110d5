// The key map. A view binds keys while it is shown; the innermost binding of a key wins.

import {signal, useLayoutEffect, useRef} from '../vendor/preact.js';

/**
 * @typedef {object} Binding
 * @property {string} keys shown and matched: `j`, `ArrowDown`, `Ctrl-K`; several with a space between
 * @property {string} label what it does, for the list of keys
 * @property {(event: KeyboardEvent) => unknown} run `false`: not for me, the next binding is asked
 */
/** @typedef {{name: string, rank: number, bindings: Binding[]}} Scope */

/** Outermost first. */
export const scopes = signal(/** @type {Scope[]} */ ([]));

let drawn = 0;

/** A dialog is open: only its own scope hears keys. */
const captured = signal('');

/** @param {KeyboardEvent} event */
function nameOf(event) {
  const key = event.key === ' ' ? 'Space' : event.key;
  if (event.ctrlKey || event.metaKey) return `Ctrl-${key.length === 1 ? key.toUpperCase() : key}`;
  return key;
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) &&
      !['checkbox', 'radio', 'button'].includes(target.getAttribute('type') ?? ''));
}

addEventListener('keydown', (event) => {
  if (event.altKey || event.isComposing) return;
  const name = nameOf(event);
  if (isTyping(event.target) && !['Escape', 'Ctrl-K', 'Ctrl-Enter', 'Ctrl-S'].includes(name)) return;
  const heard = captured.value ? scopes.value.filter((scope) => scope.name === captured.value) : scopes.value;
  for (const scope of heard.slice().reverse()) {
    for (const binding of scope.bindings) {
      if (binding.keys.split(' ').includes(name) && binding.run(event) !== false) {
        event.preventDefault();
        event.stopPropagation();
        return;
      }
    }
  }
}, true);

/**
 * Bind keys while a component is shown.
 * @param {string} name
 * @param {Binding[]} bindings
 */
export function useKeys(name, bindings) {
  const latest = useRef(bindings);
  latest.current = bindings;
  // A parent is drawn before its children: who came later is further inside.
  const rank = useRef(0);
  rank.current ||= ++drawn;
  useLayoutEffect(() => {
    /** @type {Scope} */
    const scope = {name, rank: rank.current, get bindings() { return latest.current; }};
    scopes.value = [...scopes.peek(), scope].sort((a, b) => a.rank - b.rank);
    return () => { scopes.value = scopes.peek().filter((each) => each !== scope); };
  }, [name]);
}

/**
 * Only this scope hears keys while a dialog is open; focus comes back afterwards.
 * @param {string} name
 */
export function useCapture(name) {
  useLayoutEffect(() => {
    const before = document.activeElement;
    captured.value = name;
    return () => {
      captured.value = '';
      if (before instanceof HTMLElement && before.isConnected) before.focus({preventScroll: true});
    };
  }, [name]);
}
