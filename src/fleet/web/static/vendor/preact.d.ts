// The part of preact, its hooks, signals and htm that the page uses, for `tsc`.
export type Child = unknown;
export interface VNode { readonly type: unknown; readonly props: unknown; readonly key: unknown }
export type Ref<T> = { current: T };
export interface Signal<T> { value: T; peek(): T }
export interface ReadonlySignal<T> { readonly value: T; peek(): T }
export interface Context<T> { readonly Provider: unknown; readonly _default?: T }

export function h(type: unknown, props: object | null, ...children: Child[]): VNode;
export function render(what: Child, where: Element): void;
export const Fragment: unknown;
export function createContext<T>(initial: T): Context<T>;
export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode;

export function useState<T>(initial: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export function useRef<T>(initial: T): Ref<T>;
export function useMemo<T>(make: () => T, of: readonly unknown[]): T;
export function useCallback<T extends (...args: never[]) => unknown>(make: T, of: readonly unknown[]): T;
export function useContext<T>(context: Context<T>): T;
export function useEffect(run: () => void | (() => void), of?: readonly unknown[]): void;
export function useLayoutEffect(run: () => void | (() => void), of?: readonly unknown[]): void;

export function signal<T>(initial: T): Signal<T>;
export function computed<T>(make: () => T): ReadonlySignal<T>;
export function effect(run: () => void | (() => void)): () => void;
export function batch<T>(run: () => T): T;
export function untracked<T>(run: () => T): T;
export function useSignal<T>(initial: T): Signal<T>;
export function useComputed<T>(make: () => T): ReadonlySignal<T>;
