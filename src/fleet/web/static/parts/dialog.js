// A dialog over the page: focus stays inside, Escape closes, focus goes back to where it was.

import {html, useLayoutEffect, useRef} from '../vendor/preact.js';
import {useCapture, useKeys} from '../core/keys.js';

/**
 * @param {{name: string, title: string, onClose: () => void, children?: unknown, kind?: string,
 *   bindings?: import('../core/keys.js').Binding[]}} props
 */
export function Dialog({name, title, onClose, children, bindings = [], kind = ''}) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useCapture(name);
  useKeys(name, [{keys: 'Escape', label: 'close', run: onClose}, ...bindings]);
  useLayoutEffect(() => {
    const first = box.current?.querySelector('[data-first], input, textarea, button');
    if (first instanceof HTMLElement) first.focus();
  }, []);
  /** @param {KeyboardEvent} event */
  const keepInside = (event) => {
    if (event.key !== 'Tab' || !box.current) return;
    const all = [...box.current.querySelectorAll('a[href], button:not(:disabled), input, textarea, select')];
    const at = all.indexOf(/** @type {Element} */ (document.activeElement));
    const next = event.shiftKey ? at - 1 : at + 1;
    if (next < 0 || next >= all.length) {
      event.preventDefault();
      /** @type {HTMLElement} */ (all.at(event.shiftKey ? -1 : 0))?.focus();
    }
  };
  return html`<div class="veil" onMouseDown=${(/** @type {MouseEvent} */ event) =>
    { if (event.target === event.currentTarget) onClose(); }}>
    <div class="dialog ${kind}" role="dialog" aria-modal="true" aria-label=${title} ref=${box} onKeyDown=${keepInside}>
      ${children}</div>
  </div>`;
}
