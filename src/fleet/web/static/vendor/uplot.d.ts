// The part of uPlot that the page uses, for `tsc`.
export default class uPlot {
  constructor(options: object, data: readonly (readonly (number | null)[])[], into: Element);
  setData(data: readonly (readonly (number | null)[])[]): void;
  setSize(size: { width: number; height: number }): void;
  destroy(): void;
  static paths: { bars?: (options: object) => unknown };
}
