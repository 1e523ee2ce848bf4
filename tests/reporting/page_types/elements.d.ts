// Properties that the page uses although TypeScript cannot know the kind of the element (from querySelector, or the
// target of an event); the page or its template made these elements. Also the details of events that the page sends.

interface EventTarget {
  closest(selectors: string): any;
  readonly matches: any;
  getBoundingClientRect(): DOMRect;
  append(...nodes: (Node | string)[]): void;
  readonly dataset: DOMStringMap;
}

interface Element {
  hidden: any;
  title: string;
  tabIndex: number;
  open: boolean;
  readonly dataset: DOMStringMap;
  get style(): CSSStyleDeclaration;
  set style(cssText: string);
  readonly offsetHeight: number;
  value: any;
  focus(options?: FocusOptions): void;
  blur(): void;
}

interface Event {
  readonly detail: any;
  readonly key: any;
}
